import { expect, it } from "vitest";
import { createMinimalEnvironment } from "../../../src/transports/stdio/server-process.js";

it("a server process gets a few inherited variables and the configured ones", () => {
  const parent = {
    PATH: "/bin",
    HOME: "/home/ann",
    LANG: "C",
    AWS_SECRET_ACCESS_KEY: "canary",
    NODE_OPTIONS: "-r x",
  };
  expect(createMinimalEnvironment({ PORT: "80", LANG: "de" }, parent)).toEqual({
    PATH: "/bin",
    HOME: "/home/ann",
    LANG: "de",
    PORT: "80",
  });
});
