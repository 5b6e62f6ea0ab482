export { type UipathLookup, type UipathResource, uipathServers } from "./uipath-servers.js";
export type { UipathOptions } from "./uipath-settings.js";
