import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript-5.9";
import { describe, expect, it } from "vitest";
import { readCompatibilityRows } from "./fixtures/compatibility-rows.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const TEST_FUNCTIONS: ReadonlySet<string> = new Set(["describe", "it", "test"]);

/** The titles of a file, each after those of its groups: those of tests, and each text of a row of `it.each`. */
function readTitles(file: string): string[] {
  const titles: string[] = [];
  const visit = (node: ts.Node, groups: string): void => {
    const call = ts.isCallExpression(node) ? toTestCall(node) : undefined;
    if (call === undefined) return ts.forEachChild(node, (child) => visit(child, groups));
    const title = `${groups}${call.title}`;
    titles.push(title, ...call.rows.map((row) => `${groups}${row}`));
    for (const argument of call.rest) visit(argument, `${title} `);
  };
  visit(ts.createSourceFile(file, readFileSync(`${root}${file}`, "utf8"), ts.ScriptTarget.Latest, true), "");
  return titles;
}

/** `undefined` if it is another call than that of a test or a group of tests. */
function toTestCall({ expression, arguments: [first, ...rest] }: ts.CallExpression) {
  const rows: string[] = [];
  let callee: ts.Expression = expression;
  while (ts.isCallExpression(callee) || ts.isPropertyAccessExpression(callee)) {
    if (ts.isCallExpression(callee)) for (const argument of callee.arguments) collectTexts(argument, rows);
    callee = callee.expression;
  }
  if (first === undefined || !ts.isIdentifier(callee) || !TEST_FUNCTIONS.has(callee.text)) return undefined;
  if (!ts.isStringLiteralLike(first) && !ts.isTemplateExpression(first)) return undefined;
  return { title: ts.isStringLiteralLike(first) ? first.text : first.getText(), rows, rest };
}

function collectTexts(node: ts.Node, texts: string[]): void {
  if (ts.isStringLiteralLike(node)) texts.push(node.text);
  else if (ts.isTemplateExpression(node)) texts.push(node.getText().slice(1, -1));
  ts.forEachChild(node, (child) => collectTexts(child, texts));
}

const titlesByFile = new Map<string, readonly string[]>();

function hasTest({ file, test }: { readonly file: string; readonly test: string }): boolean {
  if (!file.startsWith("test/") || !existsSync(`${root}${file}`)) return false;
  const titles = titlesByFile.get(file) ?? readTitles(file);
  titlesByFile.set(file, titles);
  return test.length > 3 && titles.some((title) => title.includes(test));
}

describe.each([...readCompatibilityRows()])("the comparison with %s", (_, rows) => {
  it("names each behavior once, with a result", () => {
    const names = rows.map(({ behavior }) => behavior);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
    const results = rows.filter(({ result }) => result !== "same" && result !== "different");
    expect(results).toEqual([]);
  });

  it("names a test that exists for each behavior that is the same", () => {
    const missing = rows.filter(({ result, evidence }) =>
      evidence === undefined ? result === "same" : !hasTest(evidence),
    );
    expect(missing).toEqual([]);
  });

  it("gives the reason of each difference", () => {
    const unexplained = rows.filter(
      ({ result, reason = "" }) => result === "different" && !/^\S.{10,}\.$/.test(reason),
    );
    expect(unexplained).toEqual([]);
  });
});
