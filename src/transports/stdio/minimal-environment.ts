type Environment = Readonly<Record<string, string | undefined>>;

/** What a program needs to run at all, and nothing that anybody keeps a secret in. */
const INHERITED: Readonly<Record<"posix" | "windows", readonly string[]>> = {
  posix: ["HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"],
  windows: [
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
  ],
};

/**
 * The environment of a server's process: a few variables of this one, and those that its definition
 * gives. Whatever else this process was given, tokens above all, is not the server's business.
 */
export function cleanEnvironment(own: Readonly<Record<string, string>>, from: Environment = process.env) {
  const names = INHERITED[process.platform === "win32" ? "windows" : "posix"];
  const inherited = names.flatMap((name) => {
    const value = from[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(inherited), ...own };
}
