import type { ToolOffer } from "../tools/create-tools.js";
import type { Member } from "./member.js";
import { toolOffer } from "./tool-offer.js";
import type { ToolsetLife } from "./toolset-life.js";

/** What a member of a toolset offers, without what is blocked. */
export function offerOf(
  life: ToolsetLife,
  member: Member,
  offer: Pick<ToolOffer, "tools" | "metadata" | "refreshesSchema">,
): ToolOffer {
  const { client, catalogue, pins } = member;
  const tools = offer.tools.filter(({ info }) => pins?.isBlocked(info.name) !== true);
  return toolOffer({ ...offer, client, tools, view: catalogue, caller: life.callerOf(member) });
}
