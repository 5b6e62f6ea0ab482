// npm run soak: 100,000 calls on one client for each response format. Prints measurements; fails on heap growth.
import { bytesPerCall, runEndurance } from "../fixtures/endurance.js";

/**
 * Any leak per call takes more: a single number in an array is eight bytes. Smaller growth is code that
 * is still being optimized, and it decreases with every call.
 */
const MAX_BYTES_PER_CALL = 2;

for (const responseFormat of ["json", "sse"] as const) {
  const measurements = await runEndurance({
    responseFormat,
    calls: 102_400,
    measurements: 20,
    onMeasurement: ({ calls, heapBytes, sockets, listeners }) => {
      const megabytes = (heapBytes / 1024 / 1024).toFixed(2);
      console.log(
        `${responseFormat}  ${calls} calls  heap ${megabytes} MB  ${sockets} sockets  ${listeners} listeners`,
      );
    },
  });
  const halves = [
    measurements.slice(0, measurements.length / 2),
    measurements.slice(measurements.length / 2),
  ] as const;
  const [early, slope] = [bytesPerCall(halves[0]), bytesPerCall(halves[1])];
  console.log(
    `${responseFormat}  ${early.toFixed(2)} bytes per call in the first half, ${slope.toFixed(2)} in the second`,
  );
  if (slope > MAX_BYTES_PER_CALL) throw new Error(`The heap grows by ${slope.toFixed(2)} bytes per call.`);
}
