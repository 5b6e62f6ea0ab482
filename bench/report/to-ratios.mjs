import { median, summarize } from "../measure/statistics.mjs";
import { RUNTIME } from "../peers/index.mjs";

/**
 * Replaces the samples of a line by the ratios of langchain-mcp-runtime to every peer, round by round.
 * Samples that are ratios already (`isRatio`) are only summarized.
 */
export function toRatios({ samples, failures, ...line }) {
  const runtimeValues = samples[RUNTIME];
  const ratios = {};
  for (const [peer, values] of Object.entries(samples)) {
    if (line.isRatio) ratios[peer] = summarize(values);
    else if (peer !== RUNTIME && runtimeValues !== undefined)
      ratios[peer] = summarize(values.map((value, n) => runtimeValues[n] / value));
  }
  return { ...line, ratios, failures, medians: mapValues(samples, median) };
}

function mapValues(record, transform) {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, transform(value)]));
}
