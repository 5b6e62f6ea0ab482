export type { UipathOptions } from "./uipath-platform.js";
export { type UipathLookup, type UipathResource, uipathServers } from "./uipath-servers.js";
