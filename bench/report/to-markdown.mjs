import { RUNTIME } from "../peers/index.mjs";

/** Formats a run as Markdown: thresholds, all ratios, and the reasons for missing ones. */
export function toMarkdown({ isQuick, machine, thresholds, lines }) {
  const peers = [
    ...new Set(lines.flatMap(({ ratios, failures }) => [...Object.keys(ratios), ...Object.keys(failures)])),
  ];
  const otherPeers = peers.filter((peer) => peer !== RUNTIME);
  return [
    toMachineText(machine),
    "",
    ...(isQuick ? ["Quick run: the figures are not meaningful."] : toThresholdTable(thresholds)),
    "",
    ...toPeerTable(
      lines.filter(({ isRatio }) => !isRatio),
      otherPeers,
    ),
    ...toOwnRatioTable(lines.filter(({ isRatio }) => isRatio)),
    ...toFailureList(lines),
  ].join("\n");
}

function toMachineText({ cpu, cores, node, load, at, seconds, versions }) {
  const packages = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return [
    `${cores} cores (${cpu}), Node ${node}, load ${load.before} before and ${load.after} after, ${seconds} s, ${at}.`,
    `${packages.join(", ")}.`,
  ].join("\n");
}

function toThresholdTable(thresholds) {
  if (thresholds.length === 0) return ["No line with a threshold was measured."];
  return [
    "| metric | threshold | measured | |",
    "| --- | --- | --- | --- |",
    ...thresholds.map(({ title, comparison, limit, ratio, isMet }) => {
      const sign = comparison === "<=" ? "≤" : "≥";
      return `| ${title} | ${sign} ${limit} | ${toRatioText(ratio)} | ${isMet ? "met" : "**missed**"} |`;
    }),
  ];
}

function toPeerTable(lines, peers) {
  if (lines.length === 0) return [];
  return [
    `${RUNTIME} divided by each peer: the median of the rounds, with the interquartile range in parentheses.`,
    "Below 1 it takes less time or CPU than the peer. Lines with ↑ are throughput: above 1 it completes more.",
    "",
    `| | ${peers.join(" | ")} |`,
    `| --- |${" --- |".repeat(peers.length)}`,
    ...lines.map((line) => toPeerRow(line, peers)),
    "",
  ];
}

function toPeerRow({ title, better, ratios, failures }, peers) {
  const cells = peers.map((peer) => {
    if (failures[peer] !== undefined) return "fails";
    return ratios[peer] === undefined ? "" : toRatioText(ratios[peer]);
  });
  return `| ${title}${better === "higher" ? " ↑" : ""} | ${cells.join(" | ")} |`;
}

function toOwnRatioTable(lines) {
  if (lines.length === 0) return [];
  const rows = lines.flatMap(({ title, ratios }) =>
    Object.entries(ratios).map(([peer, ratio]) => `| ${title} | ${peer} | ${formatRatio(ratio.median)} |`),
  );
  return ["| not compared with peers | peer | ratio |", "| --- | --- | --- |", ...rows, ""];
}

function toFailureList(lines) {
  const items = lines.flatMap(({ title, failures }) =>
    Object.entries(failures).map(([peer, reason]) => `- ${peer} fails "${title}": ${reason}`),
  );
  return items.length === 0 ? [] : [...items, ""];
}

function toRatioText({ median, low, high }) {
  return `${formatRatio(median)} (${formatRatio(low)}–${formatRatio(high)})`;
}

function formatRatio(ratio) {
  const magnitude = Math.abs(ratio);
  if (magnitude >= 10) return ratio.toFixed(0);
  return magnitude < 0.1 ? String(Number(ratio.toPrecision(2))) : ratio.toFixed(2);
}
