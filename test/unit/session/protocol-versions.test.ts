import { LATEST_PROTOCOL_VERSION, SUPPORTED_PROTOCOL_VERSIONS } from "@modelcontextprotocol/sdk/types.js";
import { expect, it } from "vitest";
import { LEGACY_VERSIONS } from "../../../src/session/protocol-eras.js";

it("the protocol revisions with sessions are those of the SDK, newest first", () => {
  expect(LEGACY_VERSIONS).toEqual(SUPPORTED_PROTOCOL_VERSIONS);
  expect(LEGACY_VERSIONS[0]).toBe(LATEST_PROTOCOL_VERSION);
});
