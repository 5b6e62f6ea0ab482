/** Closes the connections that earlier blocks opened. */
export async function run({ connections }) {
  await connections.closeAll();
}
