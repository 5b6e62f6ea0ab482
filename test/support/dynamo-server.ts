import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { CreateTableCommand, DescribeTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import dynalite from "dynalite";
import { eventually } from "./clients.js";

/** DynamoDB as dynalite plays it, in this process on a loopback port, with clients of the real SDK. */
export class DynamoServer implements AsyncDisposable {
  readonly endpoint: string;
  readonly client: DynamoDBClient;
  readonly #close: () => Promise<void>;

  private constructor(endpoint: string, close: () => Promise<void>) {
    this.endpoint = endpoint;
    this.#close = close;
    const credentials = { accessKeyId: "key", secretAccessKey: "secret" };
    this.client = new DynamoDBClient({ endpoint, region: "local", credentials });
  }

  static async start(): Promise<DynamoServer> {
    const server = dynalite({ createTableMs: 0 });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    return new DynamoServer(
      `http://127.0.0.1:${port}`,
      () => new Promise((resolve) => server.close(() => resolve())),
    );
  }

  /** A table such as a store needs, or with other keys. */
  async createTable(
    name: string,
    [partition, sort]: readonly [string, string] = ["pk", "sk"],
  ): Promise<void> {
    const attributes = [partition, sort].map((key) => ({ AttributeName: key, AttributeType: "S" as const }));
    await this.client.send(
      new CreateTableCommand({
        TableName: name,
        BillingMode: "PAY_PER_REQUEST",
        AttributeDefinitions: attributes,
        KeySchema: [
          { AttributeName: partition, KeyType: "HASH" },
          { AttributeName: sort, KeyType: "RANGE" },
        ],
      }),
    );
    await eventually(async () => {
      const { Table: table } = await this.client.send(new DescribeTableCommand({ TableName: name }));
      return table?.TableStatus === "ACTIVE";
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.client.destroy();
    await this.#close();
  }
}
