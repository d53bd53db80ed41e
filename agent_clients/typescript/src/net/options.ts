/** How a peer connects. */
import { endianness } from "node:os";

import { UsageError } from "../errors.js";
import { type JoinOptions, type JoinString, joinString } from "./join_string.js";
import type { PeerKind } from "./lobby.js";
import { type LogLevel, openLog } from "./log.js";
import { TRANSPORTS, type Transport } from "./route.js";
import type { Playing } from "./session.js";

const MOST_NAME = 200; // characters that the glue keeps

const KINDS = {
  address: "string",
  token: "string",
  tlsName: "string",
  name: "string",
  connectTimeoutS: "number",
  log: "function",
} as const satisfies { [option in keyof ConnectOptions]: string };

/** Where to join, and as what. Every option has a default. */
export interface ConnectOptions extends JoinOptions {
  /** The peer's name, for people; by default its class's. */
  readonly name?: string | undefined;
  /** How long to wait for a glue that is not up, seconds; 60 by default. */
  readonly connectTimeoutS?: number | undefined;
  /** `unix` or `grpc` alone; `auto` is a Unix socket if it can be opened, else gRPC. */
  readonly transport?: Transport | undefined;
  /**
   * Aborting it interrupts the session: the glue learns of it, and the reason is thrown. A routine that
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
  checkKinds(options);
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

/** Checks the types of options. A message repeats no value: it may be a token. */
function checkKinds(options: ConnectOptions): void {
  if (typeof options !== "object" || options === null) {
    throw new UsageError(`got options ${String(options)}, wanted an object of options by name`);
  }
  for (const [option, wanted] of Object.entries(KINDS) as [keyof typeof KINDS, string][]) {
    check(option, options[option], typeof options[option] === wanted, `a ${wanted}`);
  }
  const { ca, signal } = options;
  const isAuthority = typeof ca === "string" || ca instanceof Uint8Array;
  check("ca", ca, isAuthority, "a file's name or a Uint8Array");
  check("signal", signal, signal instanceof AbortSignal, "an AbortSignal");
}

function check(option: string, value: unknown, isRight: boolean, wanted: string): void {
  if (value === undefined || isRight) return;
  const got = value === null ? "null" : `of type ${typeof value}`;
  throw new UsageError(`got ${option} ${got}, wanted ${wanted}, or nothing`);
}
