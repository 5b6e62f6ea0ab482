export function quantile(values, share) {
  const sorted = values.toSorted((a, b) => a - b);
  const position = (sorted.length - 1) * share;
  const below = Math.floor(position);
  const above = Math.ceil(position);
  return sorted[below] + (sorted[above] - sorted[below]) * (position - below);
}

export function median(values) {
  return quantile(values, 0.5);
}

/** The middle half of the rounds: what a rerun is likely to show. */
export function summary(values) {
  return { median: median(values), low: quantile(values, 0.25), high: quantile(values, 0.75) };
}

/** What one more costs: the slope of the least squares through (size, cost). */
export function slope(points) {
  const mean = (pick) => points.reduce((sum, point) => sum + pick(point), 0) / points.length;
  const meanSize = mean(([size]) => size);
  const meanCost = mean(([, cost]) => cost);
  const covariance = mean(([size, cost]) => (size - meanSize) * (cost - meanCost));
  return covariance / mean(([size]) => (size - meanSize) ** 2);
}

/** The median of the slopes between all pairs: one odd sample does not bend it (Theil and Sen). */
export function robustSlope(points) {
  const slopes = points.flatMap(([x1, y1], index) =>
    points.slice(index + 1).map(([x2, y2]) => (y2 - y1) / (x2 - x1)),
  );
  return median(slopes);
}
