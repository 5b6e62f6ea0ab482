import { FLOOR, OURS } from "../peers/index.mjs";

/** What the chart shows, in reading order. */
const PANELS = [
  ["sequential/bare/json/p50", "One call, JSON"],
  ["sequential/bare/sse/p50", "One call, SSE"],
  ["throughput/bare/json", "64 at once, JSON"],
  ["throughput/bare/sse", "64 at once, SSE"],
  ["cold-start/10/50", "Ten servers, time to tools"],
  ["import", "Import"],
];

const ROW = 20;
const PANEL = { width: 400, label: 170, bar: 170 };
const OUR_COLOUR = "#2f81f7";
const FLOOR_COLOUR = "#8b949e55";
const PEER_COLOUR = "#8b949e";

/** Bars of how many times as long as ours each peer takes, as an SVG that reads on light and dark ground. */
export function toChart({ lines }) {
  const panels = PANELS.flatMap(([id, title]) => {
    const line = lines.find((one) => one.id === id);
    return line === undefined ? [] : [{ title, bars: toBars(line) }];
  });
  const panelHeight = Math.max(...panels.map(({ bars }) => bars.length), 0) * ROW + 44;
  const height = Math.ceil(panels.length / 2) * panelHeight + 30;
  const parts = panels.map((panel, index) => {
    const [x, y] = [(index % 2) * PANEL.width, Math.floor(index / 2) * panelHeight];
    return `<g transform="translate(${x} ${y})">${panelSvg(panel)}</g>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${2 * PANEL.width} ${height}" font-family="system-ui, sans-serif" font-size="12" fill="#8b949e">`,
    "<title>Time of each peer relative to langchain-mcp-runtime</title>",
    ...parts,
    `<text x="16" y="${height - 10}">Time relative to ${OURS} = 1, medians of one run of bench/; shorter is better.</text>`,
    "</svg>",
    "",
  ].join("\n");
}

/** Ratios are ours by theirs; a bar is theirs by ours. Of throughput, time is the inverse. */
function toBars({ ratios, better }) {
  const others = Object.entries(ratios).map(([peer, { median }]) => ({
    peer,
    times: better === "higher" ? median : 1 / median,
  }));
  return [{ peer: OURS, times: 1 }, ...others];
}

function panelSvg({ title, bars }) {
  const longest = Math.max(...bars.map(({ times }) => times));
  const rows = bars.map(({ peer, times }, index) => {
    const y = 36 + index * ROW;
    const width = Math.max(1, (times / longest) * PANEL.bar).toFixed(1);
    const textX = (PANEL.label + Number(width) + 6).toFixed(1);
    return [
      `<text x="${PANEL.label - 8}" y="${y + 11}" text-anchor="end"${peer === OURS ? ` font-weight="600" fill="${OUR_COLOUR}"` : ""}>${peer}</text>`,
      `<rect x="${PANEL.label}" y="${y}" width="${width}" height="14" rx="2" fill="${colourOf(peer)}"/>`,
      `<text x="${textX}" y="${y + 11}">${times.toFixed(times < 10 ? 2 : 0)}</text>`,
    ].join("");
  });
  return `<text x="16" y="22" font-size="14" font-weight="600">${title}</text>${rows.join("")}`;
}

function colourOf(peer) {
  if (peer === OURS) return OUR_COLOUR;
  return peer === FLOOR ? FLOOR_COLOUR : PEER_COLOUR;
}
