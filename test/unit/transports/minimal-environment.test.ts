import { expect, it } from "vitest";
import { cleanEnvironment } from "../../../src/transports/stdio/minimal-environment.js";

it("a server gets what every program needs, and what its definition gives", () => {
  const ours = {
    PATH: "/bin",
    HOME: "/home/ann",
    LANG: "C",
    AWS_SECRET_ACCESS_KEY: "canary",
    NODE_OPTIONS: "-r x",
  };
  expect(cleanEnvironment({ PORT: "80", LANG: "de" }, ours)).toEqual({
    PATH: "/bin",
    HOME: "/home/ann",
    LANG: "de",
    PORT: "80",
  });
});
