// npm run soak: 100,000 calls on one client for each kind of answer. Prints what it reads; fails on a trend.
import { bytesPerCall, endure } from "../support/endurance.js";

/** Below this a slope cannot be told from noise: 100,000 calls would leave 2 MB. */
const MOST_BYTES_PER_CALL = 20;

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
  // From call 10,000 on: before, code is still being compiled.
  const slope = bytesPerCall(readings.slice(2));
  console.log(`${answers}  ${slope.toFixed(2)} bytes a call`);
  if (slope > MOST_BYTES_PER_CALL) throw new Error(`The heap grows by ${slope.toFixed(2)} bytes a call.`);
}
