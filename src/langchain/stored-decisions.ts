import { z } from "zod";
import type { Decision } from "../tools/approval/approval-request.js";
import type { AskedAction } from "../tools/approval/reviewable-call.js";

/** An answer as the graph's state keeps it, with what was asked: never more than a person was shown. */
interface StoredAnswer {
  readonly asked: AskedAction;
  /** `null`: what was asked about is not what would be sent now. */
  readonly decision: Decision | null;
}

/** The answers to the calls of one message, by the ids of the calls. */
export interface StoredAnswers {
  readonly messageId: string | undefined;
  readonly byCall: Readonly<Record<string, StoredAnswer>>;
}

/** Names that begin with `_` are private: they are no part of an agent's input or output. */
export const answersSchema = z.object({ _mcpAnswers: z.custom<StoredAnswers>().optional() });
