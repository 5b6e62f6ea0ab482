import { describe, expect, it } from "vitest";
import { SearchIndex, tokenize } from "../../../src/tool-search/search-index.js";

describe("tokenize", () => {
  it.each([
    ["getUserByID", ["user", "id"]],
    ["search_museum-objects", ["search", "museum", "object"]],
    ["Searching, searches and searched", ["search", "search", "search"]],
    ["cities and city", ["citi", "citi"]],
    ["必应搜索", ["必应", "应搜", "搜索"]],
    ["搜 web", ["搜", "web"]],
    ["ＭＣＰ２", ["mcp", "2"]],
    ["", []],
  ])("splits %j", (text, terms) => {
    expect(tokenize(text)).toEqual(terms);
  });
});

describe("a search index", () => {
  const createIndex = () => {
    const index = new SearchIndex<string>();
    index.add("forecast", [
      { text: "get_forecast", weight: 3 },
      { text: "The weather of the next days.", weight: 1 },
    ]);
    index.add("alerts", [
      { text: "get_alerts", weight: 3 },
      { text: "Weather warnings of a region.", weight: 1 },
    ]);
    index.add("bing", [{ text: "使用必应搜索指定的关键词", weight: 1 }]);
    return index;
  };
  const find = (index: SearchIndex<string>, query: string) => index.search(query).map(({ id }) => id);

  it("ranks matches in names before matches in descriptions", () => {
    const index = createIndex();
    index.add("history", [{ text: "Past forecasts.", weight: 1 }]);
    expect(find(index, "forecasts")).toEqual(["forecast", "history"]);
  });

  it("ranks documents with more of the words first", () => {
    expect(find(createIndex(), "weather warning")).toEqual(["alerts", "forecast"]);
  });

  it("finds text without spaces", () => {
    expect(find(createIndex(), "搜索")).toEqual(["bing"]);
  });

  it("finds nothing for unknown words and for stop words", () => {
    expect(find(createIndex(), "unicorn")).toEqual([]);
    expect(find(createIndex(), "what is the")).toEqual([]);
  });

  it("does not find removed documents and the old text of replaced ones", () => {
    const index = createIndex();
    index.remove("alerts");
    index.add("forecast", [{ text: "tides", weight: 1 }]);
    expect(find(index, "weather")).toEqual([]);
    expect(find(index, "tide")).toEqual(["forecast"]);
    expect(index.size).toBe(2);
  });
});
