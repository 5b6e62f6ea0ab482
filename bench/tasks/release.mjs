/** Closes what the blocks before have opened. */
export async function run({ held }) {
  await held.closeAll();
}
