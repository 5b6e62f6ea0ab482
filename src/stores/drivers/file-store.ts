import { resolve } from "node:path";
import { definitionError } from "../../errors/config-error.js";
import { describeFound } from "../../json/describe-value.js";
import { FileShelf } from "./file-driver.js";
import type { KeyValueStore } from "../key-value-store.js";
import { ShelfStore } from "../driver-store.js";
import { resolveStoreOptions, type StoreOptions } from "../store-options.js";

export type FileStoreOptions = StoreOptions;

/**
 * Entries as files in a folder, which is made when it is first written to: for the next run, and for
 * other processes of the same user on this machine.
 */
export function fileStore(folder: string, options: FileStoreOptions = {}): KeyValueStore {
  if (typeof folder !== "string" || folder === "") {
    const message = `expected the path of a folder, found ${describeFound(folder)}`;
    throw definitionError("The file store", [{ path: "folder", message }]);
  }
  const spec = resolveStoreOptions("The file store", options);
  return new ShelfStore(new FileShelf(resolve(folder), spec), spec);
}
