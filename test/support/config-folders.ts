import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { LoadMcpServersOptions } from "../../src/index.js";

/** A project and a user's home in a folder of their own, gone in the end. */
export class ConfigFolders implements Disposable {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), "config-")));
  readonly project = join(this.root, "project");
  readonly home = join(this.root, "home");

  constructor() {
    mkdirSync(this.project);
    mkdirSync(this.home);
  }

  /** Options that see nothing of this machine. */
  options(more: LoadMcpServersOptions = {}): LoadMcpServersOptions {
    return { cwd: this.project, home: this.home, env: {}, ...more };
  }

  /** Text as it is, anything else as JSON; gives the path. */
  write(path: string, content: unknown): string {
    const file = join(this.root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content, undefined, 2));
    return file;
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}
