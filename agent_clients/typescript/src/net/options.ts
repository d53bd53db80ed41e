/** How a peer connects. */
import { endianness } from "node:os";

import { UsageError } from "../errors.js";
import { type Given, type JoinString, joinString } from "./join_string.js";
import type { PeerKind } from "./lobby.js";
import { type LogLevel, openLog } from "./log.js";
import { TRANSPORTS, type Transport } from "./route.js";
import type { Playing } from "./session.js";

const MOST_NAME = 200; // characters that the glue keeps

export interface ConnectOptions extends Given {
  /** The peer's name, for people; by default its class's. */
  readonly name?: string | undefined;
  /** How long to wait for a glue that is not up, or is gone, seconds; 60 by default. */
  readonly connectTimeoutS?: number | undefined;
  /** `unix` or `grpc` alone; `auto` is a Unix socket if it can be opened, else gRPC. */
  readonly transport?: Transport | undefined;
  /**
   * Aborting it interrupts the session: the glue is told, and its reason is thrown. A routine that
   * awaits something is not waited for.
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * Gets the lines for the author that REGLUE_LOG lets through, such as refusals and lost
   * connections; by default stderr, with time and level.
   */
  readonly log?: ((words: string, level: LogLevel) => void) | undefined;
}

/** The options with their defaults. Throws UsageError, and the signal's reason if it is aborted. */
export function checkedOptions(
  options: ConnectOptions,
  kind: PeerKind,
  defaultName: string,
): { readonly where: JoinString; readonly playing: Playing } {
  if (endianness() !== "LE") throw new UsageError("this client needs a little-endian machine");
  options.signal?.throwIfAborted();
  const { transport = "auto", connectTimeoutS = 60 } = options;
  if (!TRANSPORTS.includes(transport)) {
    throw new UsageError(`got transport ${transport}, wanted ${TRANSPORTS.join(", ")}`);
  }
  if (!(connectTimeoutS >= 0)) {
    throw new UsageError(`got a connect timeout of ${connectTimeoutS} s, wanted 0 or more`);
  }
  const playing = {
    kind,
    name: (options.name ?? defaultName).slice(0, MOST_NAME),
    connectTimeoutMs: 1000 * connectTimeoutS,
    transport,
    signal: options.signal ?? new AbortController().signal,
    log: openLog(options.log),
  };
  return { where: joinString(options), playing };
}
