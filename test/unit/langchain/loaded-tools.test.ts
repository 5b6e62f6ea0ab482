import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { findLoadedTools, mergeLoadedTools, selectLoadedTools } from "../../../src/langchain/loaded-tools.js";

const call = (name: string, args: Record<string, unknown> = {}) =>
  new AIMessage({ content: "", tool_calls: [{ id: name, name, args }] });
const load = (...names: string[]) => call("load_tools", { names });
const human = (text = "Go on.") => new HumanMessage(text);

describe("the loaded tools of a run", () => {
  it("are those that load_tools named and those that were called, in order and once", () => {
    const messages = [human(), call("search_tools", { query: "x" }), load("b", "a"), call("c"), load("a")];
    expect(findLoadedTools({ messages })).toEqual(["b", "a", "c"]);
    expect(findLoadedTools(messages)).toEqual(["b", "a", "c"]);
  });

  it("survive a trimmed history if the state has them", () => {
    expect(findLoadedTools({ mcpLoadedTools: ["a", "b"], messages: [human(), call("c")] })).toEqual([
      "a",
      "b",
      "c",
    ]);
  });

  it("ignore values that are not names", () => {
    const messages = [call("load_tools", { names: "a" }), call("load_tools", { names: [7, "a"] }), null, 7];
    expect(findLoadedTools({ messages, mcpLoadedTools: [null] })).toEqual(["a"]);
    expect(findLoadedTools(undefined)).toEqual([]);
  });

  it("of a hostile state are read in linear time", () => {
    const names = Array.from({ length: 200_000 }, (_unused, index) => `tool${index}`);
    const state = { messages: [{ type: "ai", tool_calls: [{ name: "load_tools", args: { names } }] }] };
    expect(findLoadedTools(state)).toHaveLength(200_000);
  });

  it("are merged without changing the order", () => {
    const current = ["a", "b"];
    expect(mergeLoadedTools(current, ["b", "c", "c", "a"])).toEqual(["a", "b", "c"]);
    expect(mergeLoadedTools(current, ["a"])).toBe(current);
  });
});

describe("the loaded tools that a model sees", () => {
  it("keep their order while tools are added", () => {
    const messages = [human(), load("a", "b")];
    expect(selectLoadedTools({ messages }, 10)).toEqual(["a", "b"]);
    expect(selectLoadedTools({ messages: [...messages, call("b"), load("c")] }, 10)).toEqual(["a", "b", "c"]);
  });

  it("are limited at a human message: those used last stay, in the order in which they were loaded", () => {
    const messages = [human(), load("a", "b", "c"), call("a")];
    expect(selectLoadedTools({ messages }, 2)).toEqual(["a", "b", "c"]);
    expect(selectLoadedTools({ messages: [...messages, human()] }, 2)).toEqual(["a", "c"]);
  });

  it("are not removed within a turn", () => {
    const messages = [human(), load("a", "b"), human(), load("c"), call("c"), new ToolMessage("x", "c")];
    expect(selectLoadedTools({ messages }, 2)).toEqual(["a", "b", "c"]);
  });

  it("have a removed tool that is used again at the end", () => {
    const messages = [human(), load("a", "b", "c"), human(), call("a")];
    expect(selectLoadedTools({ messages }, 2)).toEqual(["b", "c", "a"]);
  });

  it("keep their order when an early one is used after the history was trimmed", () => {
    const state = { mcpLoadedTools: ["a", "b", "c"], messages: [human(), call("b")] };
    expect(selectLoadedTools(state, 10)).toEqual(["a", "b", "c"]);
  });
});
