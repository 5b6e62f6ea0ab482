export function quantile(values, q) {
  const sorted = values.toSorted((a, b) => a - b);
  const position = (sorted.length - 1) * q;
  const below = Math.floor(position);
  const above = Math.ceil(position);
  return sorted[below] + (sorted[above] - sorted[below]) * (position - below);
}

export function median(values) {
  return quantile(values, 0.5);
}

/** The median and the interquartile range. */
export function summarize(values) {
  return { median: median(values), low: quantile(values, 0.25), high: quantile(values, 0.75) };
}

/** The least-squares slope through (size, cost): the cost of each additional unit. */
export function leastSquaresSlope(points) {
  const mean = (getValue) => points.reduce((sum, point) => sum + getValue(point), 0) / points.length;
  const meanSize = mean(([size]) => size);
  const meanCost = mean(([, cost]) => cost);
  const covariance = mean(([size, cost]) => (size - meanSize) * (cost - meanCost));
  return covariance / mean(([size]) => (size - meanSize) ** 2);
}

/** The median of the slopes between all pairs of points, which is robust against outliers. */
export function theilSenSlope(points) {
  const slopes = points.flatMap(([x1, y1], index) =>
    points.slice(index + 1).map(([x2, y2]) => (y2 - y1) / (x2 - x1)),
  );
  return median(slopes);
}
