import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** What the compiler says of these modules, as files of this project. Nothing, when all is well. */
export async function typeErrorsOf(modules: readonly string[]): Promise<string> {
  const folder = mkdtempSync(join(root, "node_modules/.type-check-"));
  try {
    modules.forEach((text, index) =>
      writeFileSync(join(folder, `block-${index + 1}.ts`), `${text}\nexport {};\n`),
    );
    const config = {
      extends: join(root, "tsconfig.json"),
      compilerOptions: { noUnusedLocals: false },
      include: [join(folder, "*.ts")],
      exclude: [],
    };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    return await new Promise((resolve) => {
      execFile(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", folder], (_, stdout) =>
        resolve(stdout.replaceAll(folder, "")),
      );
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
