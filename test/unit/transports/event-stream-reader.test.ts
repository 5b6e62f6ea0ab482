import { describe, expect, it } from "vitest";
import { EventStreamReader } from "../../../src/transports/http/body-readers.js";

function read(chunks: readonly Buffer[], maxBytes = 1_000_000, state: "open" | "ended" = "open") {
  const data: string[] = [];
  const named: string[] = [];
  const invalid: string[] = [];
  let tooLarge = 0;
  let ended = 0;
  const reader = new EventStreamReader(maxBytes, {
    onData: (text) => data.push(text),
    onNamedEvent: (event, text) => named.push(`${event}: ${text}`),
    onTooLarge: () => (tooLarge += 1),
    onInvalid: (reason) => invalid.push(reason),
    onEnd: () => (ended += 1),
  });
  for (const chunk of chunks) reader.data(chunk);
  if (state === "ended") reader.end();
  const { lastEventId, retryMs } = reader;
  return { data, named, invalid, tooLarge, lastEventId, retryMs, ended };
}

const STREAM = Buffer.from(
  '\uFEFFid: 1\r\ndata: {"a":"é"}\r\n\r\n: comment\nretry: 70\nevent: log\ndata: two\ndata: 中\uFEFF😀\n\nid: 2\rdata: last\r\r',
);
const EVENTS = {
  data: ['{"a":"é"}', "last"],
  named: ["log: two\n中\uFEFF😀"],
  invalid: [],
  tooLarge: 0,
  ended: 0,
  lastEventId: "2",
  retryMs: 70,
};

describe("an event stream", () => {
  it("is the same wherever it is split", () => {
    expect(read([STREAM])).toEqual(EVENTS);
    for (let at = 1; at < STREAM.length; at += 1)
      expect(read([STREAM.subarray(0, at), STREAM.subarray(at)])).toEqual(EVENTS);
    expect(read([...STREAM].map((byte) => Buffer.from([byte])))).toEqual(EVENTS);
  });

  it.each(["ASCII", "more than ASCII: é中😀"])("has large events with %s", (end) => {
    const text = `${"x".repeat(200_000)}${end}`;
    const bytes = Buffer.from(`data: ${text}\n\n`);
    expect(read([bytes]).data).toEqual([text]);
    expect(read([bytes.subarray(0, 70_000), bytes.subarray(70_000)]).data).toEqual([text]);
  });

  it("takes no longer with carriage returns than with line feeds only", () => {
    const measureMs = (text: string) => {
      const bytes = Buffer.from(text);
      const start = process.cpuUsage();
      read([bytes]);
      return process.cpuUsage(start).user / 1_000;
    };
    const lines = ":\n".repeat(1_000_000);
    const plainMs = measureMs(lines);
    // The parser would search all that follows for the next carriage return, or line feed, at each line.
    for (const text of [`:\r\n${lines}`, `${":\r".repeat(1_000_000)}\n`])
      expect(measureMs(text)).toBeLessThan(20 * plainMs + 50);
  });

  it("is read while other streams are read", () => {
    const received: string[] = [];
    const events = { onEnd: () => undefined, onTooLarge: () => undefined, onInvalid: () => undefined };
    const texts = [100_000, 200_000, 3_000_000].map((length, index) => String(index).repeat(length));
    const streams = texts.map((text) => ({
      bytes: Buffer.from(`data: ${text}\n\n`),
      reader: new EventStreamReader(10_000_000, { ...events, onData: (data) => received.push(data) }),
    }));
    for (let at = 0; at < 4_000_000; at += 64 * 1024)
      for (const { bytes, reader } of streams) reader.data(bytes.subarray(at, at + 64 * 1024));
    expect(received).toEqual(texts);
  });

  it("ends at the limit, also in a line that does not end, and nothing more is read", () => {
    const line = Buffer.from(`data: ${"é".repeat(50)}\n\n`);
    expect(read([line], 100)).toMatchObject({ tooLarge: 0, data: ["é".repeat(50)] });
    expect(read([line], 99)).toMatchObject({ tooLarge: 1, data: [] });
    const halves = [Buffer.from(`data: ${"é".repeat(30)}`), Buffer.from("é".repeat(30)), line, line];
    expect(read(halves, 100)).toMatchObject({ tooLarge: 1, data: [] });
    const lines = [Buffer.from(`data: ${"a".repeat(60)}\n`), Buffer.from(`data: ${"a".repeat(60)}\n`), line];
    expect(read(lines, 100)).toMatchObject({ tooLarge: 1, data: [] });
  });

  it("that ends without the empty line sets no id and no retry time, which may be cut off", () => {
    for (const end of ['id: 12\ndata: {"a":1}', 'data: {"a":1}\nid: 12', 'data: {"a":1}\nretry: 12'])
      expect(read([Buffer.from(`id: 1\nretry: 70\ndata: x\n\n${end}`)], 100, "ended")).toMatchObject({
        data: ["x", '{"a":1}'],
        lastEventId: "1",
        retryMs: 70,
        ended: 1,
      });
  });

  it("whose last event is too large does not end as well", () => {
    const event = Buffer.from(`data:"${"a".repeat(99)}"`);
    expect(read([event], 100, "ended")).toMatchObject({ tooLarge: 1, data: [], ended: 0 });
  });
});
