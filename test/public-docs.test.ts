import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript-5.9";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));

/** The published types of the package's entry points. Needs `npm run build`. */
function findEntryPoints(): string[] {
  const manifest = JSON.parse(readFileSync(`${root}/package.json`, "utf8")) as {
    readonly exports: Readonly<Record<string, { readonly default?: string } | string>>;
  };
  return Object.values(manifest.exports)
    .flatMap((entry) => (typeof entry === "string" ? [] : [entry.default ?? ""]))
    .map((file) => `${root}${file.replace("./", "").replace(/\.js$/, ".d.ts")}`);
}

function createProgram(): ts.Program {
  const { config } = ts.readConfigFile(`${root}/src/tsconfig.json`, (path) => ts.sys.readFile(path));
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, `${root}/src`);
  return ts.createProgram(findEntryPoints(), options);
}

/** The exports of an entry point, of which none is an alias. */
function getExports(file: string, program: ts.Program): { name: string; symbol: ts.Symbol }[] {
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(file);
  const module = source === undefined ? undefined : checker.getSymbolAtLocation(source);
  if (module === undefined) throw new Error(`${file} exports nothing.`);
  return checker.getExportsOfModule(module).map((exported) => {
    const isAlias = (exported.flags & ts.SymbolFlags.Alias) !== 0;
    return { name: exported.name, symbol: isAlias ? checker.getAliasedSymbol(exported) : exported };
  });
}

/** Lists the members of exported types that an editor shows with the schema they are made from. */
function findShownSchemas(program: ts.Program): string[] {
  const checker = program.getTypeChecker();
  return findEntryPoints().flatMap((file) =>
    getExports(file, program)
      .filter(({ symbol }) => (symbol.flags & ts.SymbolFlags.Interface) !== 0)
      .flatMap(({ name, symbol }) =>
        checker
          .getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol))
          .filter((member) => /\bZod/.test(checker.typeToString(checker.getTypeOfSymbol(member))))
          .map((member) => `${name}.${member.name}`),
      ),
  );
}

/** Lists the exported symbols and their public members that have no description. */
function findUndocumented(program: ts.Program): string[] {
  const checker = program.getTypeChecker();
  const undocumented = new Set<string>();
  const check = (symbol: ts.Symbol | undefined, name: string) => {
    if (symbol === undefined) return;
    const isDocumented =
      symbol.getDocumentationComment(checker).length > 0 || symbol.getJsDocTags(checker).length > 0;
    if (!isDocumented) undocumented.add(name);
  };
  const checkMembers = (members: readonly ts.Node[], name: string) => {
    for (const member of members) {
      const { name: memberName } = member as ts.NamedDeclaration;
      if (memberName === undefined || ts.isPrivateIdentifier(memberName)) continue;
      const flags = ts.getCombinedModifierFlags(member as ts.Declaration);
      if ((flags & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)) !== 0) continue;
      const symbol = checker.getSymbolAtLocation(memberName);
      check(symbol, `${name}.${symbol?.name}`);
    }
  };
  /** Includes inherited members: those of a spread have no description in the published types. */
  const checkProperties = (symbol: ts.Symbol, name: string) => {
    for (const member of checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol))) {
      const [declaration] = member.declarations ?? [];
      const isOwn = declaration?.getSourceFile().fileName.includes("node_modules") === false;
      if (isOwn && !member.name.startsWith("__@")) check(member, `${name}.${member.name}`);
    }
  };
  const checkType = (type: ts.TypeNode | undefined, name: string) => {
    if (type === undefined) return;
    if (ts.isTypeLiteralNode(type)) checkMembers(type.members, name);
    else if (ts.isUnionTypeNode(type) || ts.isIntersectionTypeNode(type))
      for (const part of type.types) checkType(part, name);
  };
  for (const file of findEntryPoints()) {
    for (const { name: exportedName, symbol } of getExports(file, program)) {
      const declarations = (symbol.declarations ?? []).filter(
        (declaration) => !declaration.getSourceFile().fileName.includes("node_modules"),
      );
      if (declarations.length === 0) continue;
      const name = `${relative(root, file)}: ${exportedName}`;
      check(symbol, name);
      for (const declaration of declarations) {
        if (ts.isClassDeclaration(declaration)) checkMembers(declaration.members, name);
        if (ts.isInterfaceDeclaration(declaration)) checkProperties(symbol, name);
        if (ts.isTypeAliasDeclaration(declaration)) checkType(declaration.type, name);
      }
    }
  }
  return [...undocumented];
}

describe("the public API", () => {
  const program = createProgram();

  it("has a description of every export and every member", { timeout: 60_000 }, () => {
    expect(findUndocumented(program)).toEqual([]);
  });

  it("shows named types in editors, and no schemas", { timeout: 60_000 }, () => {
    expect(findShownSchemas(program)).toEqual([]);
  });
});
