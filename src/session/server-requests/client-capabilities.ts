import type { ServerRequestHandlers } from "../../config/server-request-handlers.js";

type EmptyCapability = Record<string, never>;

/** In the format of the protocol, which both versions of the SDK accept. */
type ClientCapabilities = {
  readonly roots?: EmptyCapability;
  readonly sampling?: EmptyCapability;
  readonly elicitation?: { readonly form?: EmptyCapability; readonly url?: EmptyCapability };
};

/** Returns the capabilities to declare: exactly those that have a handler. */
export function toCapabilities(handlers: ServerRequestHandlers): ClientCapabilities {
  const { roots, sample, elicitForm, elicitUrl } = handlers;
  const elicitation = {
    ...(elicitForm === undefined ? {} : { form: {} }),
    ...(elicitUrl === undefined ? {} : { url: {} }),
  };
  return {
    ...(roots === undefined ? {} : { roots: {} }),
    ...(sample === undefined ? {} : { sampling: {} }),
    ...(Object.keys(elicitation).length === 0 ? {} : { elicitation }),
  };
}
