import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { deserialize, serialize } from "node:v8";
import type { RunnableConfig } from "@langchain/core/runnables";
import { type Checkpoint, type CheckpointMetadata, MemorySaver } from "@langchain/langgraph";

/** LangGraph's saver in memory, kept in a file: what one process saved, another finds. */
export class FileSaver extends MemorySaver {
  readonly #path: string;

  constructor(path: string) {
    super();
    this.#path = path;
    if (existsSync(path)) Object.assign(this, deserialize(readFileSync(path)));
  }

  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
  ): Promise<RunnableConfig> {
    const saved = await super.put(config, checkpoint, metadata);
    this.#save();
    return saved;
  }

  override async putWrites(
    config: RunnableConfig,
    writes: [string, unknown][],
    taskId: string,
  ): Promise<void> {
    await super.putWrites(config, writes, taskId);
    this.#save();
  }

  #save(): void {
    const { storage, writes } = this;
    writeFileSync(this.#path, serialize({ storage, writes }));
  }
}
