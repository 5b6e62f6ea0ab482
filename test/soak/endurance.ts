// npm run soak: 100,000 calls on one client for each kind of answer. Prints what it reads; fails on a trend.
import { bytesPerCall, endure } from "../fixtures/endurance.js";

/**
 * Whatever a call could leave behind takes more: a single number in a list is eight bytes. What is
 * less is code that still gets faster, and it gets less with every call.
 */
const MOST_BYTES_PER_CALL = 2;

for (const answers of ["json", "sse"] as const) {
  const readings = await endure({
    answers,
    calls: 102_400,
    readings: 20,
    onReading: ({ calls, heapBytes, sockets, listeners }) => {
      const megabytes = (heapBytes / 1024 / 1024).toFixed(2);
      console.log(
        `${answers}  ${calls} calls  heap ${megabytes} MB  ${sockets} sockets  ${listeners} listeners`,
      );
    },
  });
  const halves = [readings.slice(0, readings.length / 2), readings.slice(readings.length / 2)] as const;
  const [early, slope] = [bytesPerCall(halves[0]), bytesPerCall(halves[1])];
  console.log(
    `${answers}  ${early.toFixed(2)} bytes a call in the first half, ${slope.toFixed(2)} in the second`,
  );
  if (slope > MOST_BYTES_PER_CALL) throw new Error(`The heap grows by ${slope.toFixed(2)} bytes a call.`);
}
