import { OURS } from "../peers/index.mjs";

/** The run as Markdown: the bars, all ratios, and why some are missing. */
export function toMarkdown({ isQuick, machine, bars, lines }) {
  const peers = [
    ...new Set(lines.flatMap(({ ratios, failures }) => [...Object.keys(ratios), ...Object.keys(failures)])),
  ];
  const others = peers.filter((peer) => peer !== OURS);
  return [
    machineText(machine),
    "",
    ...(isQuick ? ["A quick run: whether everything works. Its figures say nothing."] : barTable(bars)),
    "",
    ...ratioTable(
      lines.filter(({ shows }) => shows !== "own"),
      others,
    ),
    ...ownTable(lines.filter(({ shows }) => shows === "own")),
    ...failureList(lines),
  ].join("\n");
}

function machineText({ cpu, cores, node, load, at, seconds, versions }) {
  const packages = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return [
    `${cores} cores (${cpu}), Node ${node}, load ${load.before} before and ${load.after} after, ${seconds} s, ${at}.`,
    `${packages.join(", ")}.`,
  ].join("\n");
}

function barTable(bars) {
  if (bars.length === 0) return ["No line with a bar was measured."];
  return [
    "| bar | limit | measured | |",
    "| --- | --- | --- | --- |",
    ...bars.map(({ title, comparison, limit, ratio, isMet }) => {
      const sign = comparison === "<=" ? "≤" : "≥";
      return `| ${title} | ${sign} ${limit} | ${ratioText(ratio)} | ${isMet ? "pass" : "**miss**"} |`;
    }),
  ];
}

function ratioTable(lines, peers) {
  if (lines.length === 0) return [];
  return [
    "Ours divided by each peer's: the median of the rounds and their middle half. Below 1 we take less",
    "(time, CPU); where it says ↑ more is better, and above 1 we do more.",
    "",
    `| | ${peers.join(" | ")} |`,
    `| --- |${" --- |".repeat(peers.length)}`,
    ...lines.map((line) => ratioRow(line, peers)),
    "",
  ];
}

function ratioRow({ title, better, ratios, failures }, peers) {
  const cells = peers.map((peer) => {
    if (failures[peer] !== undefined) return "fails";
    return ratios[peer] === undefined ? "" : ratioText(ratios[peer]);
  });
  return `| ${title}${better === "higher" ? " ↑" : ""} | ${cells.join(" | ")} |`;
}

function ownTable(lines) {
  if (lines.length === 0) return [];
  const rows = lines.flatMap(({ title, ratios }) =>
    Object.entries(ratios).map(([peer, ratio]) => `| ${title} | ${peer} | ${short(ratio.median)} |`),
  );
  return ["| each on its own | | |", "| --- | --- | --- |", ...rows, ""];
}

function failureList(lines) {
  const reasons = lines.flatMap(({ title, failures }) =>
    Object.entries(failures).map(([peer, reason]) => `- ${peer} fails at "${title}": ${reason}`),
  );
  return reasons.length === 0 ? [] : [...reasons, ""];
}

function ratioText({ median, low, high }) {
  return `${short(median)} (${short(low)}–${short(high)})`;
}

function short(ratio) {
  const size = Math.abs(ratio);
  if (size >= 10) return ratio.toFixed(0);
  return size < 0.1 ? String(Number(ratio.toPrecision(2))) : ratio.toFixed(2);
}
