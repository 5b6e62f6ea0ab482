import { median, summary } from "../measure/statistics.mjs";
import { OURS } from "../peers/index.mjs";

/**
 * A line of samples as ratios of ours to every peer, round by round. A line that shows its own
 * figures (the heap) is one of ratios already.
 */
export function compare({ samples, failures, ...line }) {
  const ours = samples[OURS];
  const ratios = {};
  for (const [peer, values] of Object.entries(samples)) {
    if (line.shows === "own") ratios[peer] = summary(values);
    else if (peer !== OURS && ours !== undefined)
      ratios[peer] = summary(values.map((value, n) => ours[n] / value));
  }
  return { ...line, ratios, failures, medians: mapValues(samples, median) };
}

function mapValues(record, change) {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
}
