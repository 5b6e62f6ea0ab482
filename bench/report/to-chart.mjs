import { BASELINE, RUNTIME } from "../peers/index.mjs";

/** The lines of the chart, in reading order. */
const PANELS = [
  ["sequential/bare/json/p50", "One call, JSON"],
  ["sequential/bare/sse/p50", "One call, SSE"],
  ["throughput/bare/json", "64 concurrent calls, JSON"],
  ["throughput/bare/sse", "64 concurrent calls, SSE"],
  ["cold-start/10/50", "10 servers, time to tools"],
  ["import", "Import"],
];

const ROW_HEIGHT = 20;
const PANEL = { width: 400, labelWidth: 170, barWidth: 170 };
const RUNTIME_COLOR = "#2f81f7";
const BASELINE_COLOR = "#8b949e55";
const PEER_COLOR = "#8b949e";

/** Draws the time of each peer relative to langchain-mcp-runtime, readable on light and dark backgrounds. */
export function toChart({ lines }) {
  const panels = PANELS.flatMap(([id, title]) => {
    const line = lines.find((candidate) => candidate.id === id);
    return line === undefined ? [] : [{ title, bars: toBars(line) }];
  });
  const panelHeight = Math.max(...panels.map(({ bars }) => bars.length), 0) * ROW_HEIGHT + 44;
  const height = Math.ceil(panels.length / 2) * panelHeight + 30;
  const groups = panels.map((panel, index) => {
    const [x, y] = [(index % 2) * PANEL.width, Math.floor(index / 2) * panelHeight];
    return `<g transform="translate(${x} ${y})">${toPanelSvg(panel)}</g>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${2 * PANEL.width} ${height}" font-family="system-ui, sans-serif" font-size="12" fill="#8b949e">`,
    "<title>Time of each peer relative to langchain-mcp-runtime</title>",
    ...groups,
    `<text x="16" y="${height - 10}">Time relative to ${RUNTIME} = 1, medians of one run of bench/; shorter is better.</text>`,
    "</svg>",
    "",
  ].join("\n");
}

/** A ratio is langchain-mcp-runtime divided by the peer, a bar is the inverse. For throughput, time is the inverse. */
function toBars({ ratios, better }) {
  const peerBars = Object.entries(ratios).map(([peer, { median }]) => ({
    peer,
    relativeTime: better === "higher" ? median : 1 / median,
  }));
  return [{ peer: RUNTIME, relativeTime: 1 }, ...peerBars];
}

function toPanelSvg({ title, bars }) {
  const longest = Math.max(...bars.map(({ relativeTime }) => relativeTime));
  const rows = bars.map(({ peer, relativeTime }, index) => {
    const y = 36 + index * ROW_HEIGHT;
    const width = Math.max(1, (relativeTime / longest) * PANEL.barWidth).toFixed(1);
    const textX = (PANEL.labelWidth + Number(width) + 6).toFixed(1);
    return [
      `<text x="${PANEL.labelWidth - 8}" y="${y + 11}" text-anchor="end"${peer === RUNTIME ? ` font-weight="600" fill="${RUNTIME_COLOR}"` : ""}>${peer}</text>`,
      `<rect x="${PANEL.labelWidth}" y="${y}" width="${width}" height="14" rx="2" fill="${getColor(peer)}"/>`,
      `<text x="${textX}" y="${y + 11}">${relativeTime.toFixed(relativeTime < 10 ? 2 : 0)}</text>`,
    ].join("");
  });
  return `<text x="16" y="22" font-size="14" font-weight="600">${title}</text>${rows.join("")}`;
}

function getColor(peer) {
  if (peer === RUNTIME) return RUNTIME_COLOR;
  return peer === BASELINE ? BASELINE_COLOR : PEER_COLOR;
}
