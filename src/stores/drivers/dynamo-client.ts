/** What is used of a `DynamoDBClient` (or a document client), so that one of your own can be given. */
export interface DynamoClient {
  send(command: never, options: { readonly abortSignal: AbortSignal }): Promise<unknown>;
}
