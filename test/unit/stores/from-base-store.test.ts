import { InMemoryStore as LangChainStore } from "@langchain/core/stores";
import { InMemoryStore as LangGraphStore } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { fromBaseStore } from "../../../src/stores/index.js";
import { rejection } from "../../fixtures/clients.js";
import { catchConfigError } from "../../fixtures/catch-config-error.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";

describe("a BaseStore as a store", () => {
  it.each([[{}], [null], ["redis://localhost"], [new Map()]])("is not %o", (store) => {
    expect(catchConfigError(() => fromBaseStore(store as never)).issues).toEqual([
      { path: "", message: expect.stringContaining("BaseStore") },
    ]);
  });

  it("of LangChain receives keys that are valid file names, and bytes", async () => {
    const langchain = new LangChainStore<Uint8Array>();
    await using store = fromBaseStore(langchain, { namespace: "mcp" });
    await store.set("tools/Wetter ü_1", 1);
    const names: string[] = [];
    for await (const name of langchain.yieldKeys()) names.push(name);
    expect(names).toEqual(["mcp:tools_2fWetter_20_c3_bc_5f1"]);
    expect(await langchain.mget(names)).toEqual([expect.any(Uint8Array)]);
    expect(await store.list("tools/W")).toEqual(["tools/Wetter ü_1"]);
  });

  it("of LangChain may contain foreign entries", async () => {
    const langchain = new LangChainStore<unknown>();
    const logger = new RecordingLogger();
    await using store = fromBaseStore(langchain, { namespace: "mcp", logger });
    await langchain.mset([
      ["mcp:k", { a: 1 }],
      ["mcp:_zz", 1],
      ["foreign", 1],
    ]);
    expect(await store.get("k")).toBeUndefined();
    expect(logger.warnings).toEqual([expect.stringMatching(/"k".*neither a string nor bytes/)]);
    expect(await store.list("")).toEqual([]);
  });

  it("of LangGraph only uses its own namespace", async () => {
    const langgraph = new LangGraphStore();
    await using store = fromBaseStore(langgraph, { namespace: "mcp" });
    await store.set("k", 1);
    const record = `{"format":1,"key":"deeper"}\n1`;
    await langgraph.put(["mcp", "below"], "deeper", { record });
    await langgraph.put(["mcp"], "foreign", { text: "hello" });
    expect(await store.list("")).toEqual(["k"]);
    expect((await langgraph.get(["mcp"], "k"))?.value).toEqual({ record: `{"format":1,"key":"k"}\n1` });
  });

  it("that fails is named in the error, without the value", async () => {
    const langgraph = new LangGraphStore();
    langgraph.put = (_namespace, _key, value) => {
      throw new TypeError(`cannot store ${String(value["record"])}`);
    };
    await using store = fromBaseStore(langgraph);
    const error = await rejection(store.set("k", "canary"));
    expect(error).toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("LangGraph store"),
      cause: { name: "TypeError" },
    });
    expect(String((error.cause as Error).stack)).not.toContain("canary");
  });

  it("that never responds fails with a timeout", async () => {
    const langgraph = new LangGraphStore();
    langgraph.get = () => new Promise(() => undefined);
    const store = fromBaseStore(langgraph, { timeoutMs: 20 });
    expect(await rejection(store.get("k"))).toMatchObject({ kind: "timeout" });
    await store.close();
  });
});
