export { type UipathLookup, type UipathResource, uipathServers } from "../servers/uipath-servers.js";
export type { UipathOptions } from "../servers/uipath-settings.js";
