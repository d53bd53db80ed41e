/** Which protocol and which library this is. */

export const PROTOCOL_MAJOR = 1;
export const PROTOCOL_MINOR = 0;

/** As in package.json. */
export const VERSION = "0.1.0";

/** Name and version of this library, as AgentHello carries it. */
export const SDK = `reglue-typescript ${VERSION}`;
