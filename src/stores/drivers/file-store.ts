import { resolve } from "node:path";
import { configError } from "../../errors/config-error.js";
import { describeValue } from "../../json/describe-value.js";
import { FileShelf } from "./file-driver.js";
import type { KeyValueStore } from "../key-value-store.js";
import { DriverStore } from "../driver-store.js";
import { resolveStoreOptions, type StoreOptions } from "../store-options.js";

export type FileStoreOptions = StoreOptions;

/**
 * Entries as files in a folder, which is made when it is first written to: for the next run, and for
 * other processes of the same user on this machine.
 */
export function fileStore(folder: string, options: FileStoreOptions = {}): KeyValueStore {
  if (typeof folder !== "string" || folder === "") {
    const message = `expected the path of a folder, found ${describeValue(folder)}`;
    throw configError("The file store", [{ path: "folder", message }]);
  }
  const config = resolveStoreOptions("The file store", options);
  return new DriverStore(new FileShelf(resolve(folder), config), config);
}
