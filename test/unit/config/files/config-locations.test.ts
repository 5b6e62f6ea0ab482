import { describe, expect, it } from "vitest";
import {
  CONFIG_LOCATIONS,
  resolveLocation,
  detectFormat,
} from "../../../../src/config/files/config-locations.js";

const posix = process.platform !== "win32";

/** The user files on a platform. */
function userFiles(platform: NodeJS.Platform, env: Record<string, string> = {}): string[] {
  const folders = { project: "/project", home: "/home", env, platform };
  return CONFIG_LOCATIONS.filter(({ scope }) => scope === "user").map((location) =>
    resolveLocation(location, folders),
  );
}

describe.runIf(posix)("user files", () => {
  it("on Linux", () => {
    expect(userFiles("linux")).toEqual([
      "/home/.claude.json",
      "/home/.config/Code/User/mcp.json",
      "/home/.cursor/mcp.json",
      "/home/.config/Claude/claude_desktop_config.json",
      "/home/.codeium/windsurf/mcp_config.json",
      "/home/.gemini/settings.json",
      "/home/.copilot/mcp-config.json",
      "/home/.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
      "/home/.cline/data/settings/cline_mcp_settings.json",
      "/home/.config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
      "/home/.config/zed/settings.json",
    ]);
  });

  it("on macOS", () => {
    expect(userFiles("darwin")).toEqual(
      expect.arrayContaining([
        "/home/Library/Application Support/Code/User/mcp.json",
        "/home/Library/Application Support/Claude/claude_desktop_config.json",
        "/home/.config/zed/settings.json",
      ]),
    );
  });

  it("on Windows, with and without APPDATA", () => {
    expect(userFiles("win32", { APPDATA: "/roaming" })).toEqual(
      expect.arrayContaining(["/roaming/Code/User/mcp.json", "/roaming/zed/settings.json"]),
    );
    expect(userFiles("win32")).toContain("/home/AppData/Roaming/Claude/claude_desktop_config.json");
  });

  it("with the environment variables of the clients", () => {
    const env = { CLAUDE_CONFIG_DIR: "/c", COPILOT_HOME: "/p", XDG_CONFIG_HOME: "/x" };
    expect(userFiles("linux", env)).toEqual(
      expect.arrayContaining([
        "/c/.claude.json",
        "/p/mcp-config.json",
        "/x/zed/settings.json",
        "/x/Code/User/mcp.json",
      ]),
    );
  });
});

describe.runIf(posix)("an explicitly passed file", () => {
  it.each([
    ["/a/b/.mcp.json", "mcp-json", "/a/b"],
    ["/a/.hidden/.mcp.json", "mcp-json", "/a/.hidden"],
    ["/a/b/.vscode/mcp.json", "vscode", "/a/b"],
    ["/a/b/.github/mcp.json", "copilot-cli", "/a/b"],
    ["/home/.config/Code/User/mcp.json", "vscode", "/home/.config/Code/User"],
    ["/a/b/.zed/settings.json", "zed", "/a/b"],
    ["/home/.config/Zed/settings.json", "zed", "/home/.config/Zed"],
    ["/home/.claude.json", "claude-code", "/home"],
    ["/a/b/settings.json", "mcp-json", "/a/b"],
    ["/a/b/anything.json", "mcp-json", "/a/b"],
  ])("%s has format %s and folder %s", (file, format, folder) => {
    expect(detectFormat(file)).toEqual({ format, folder });
  });
});
