/**
 * Messages over a Unix socket, for peers on the glue's own host.
 *
 * Each message is preceded by its length, four bytes, little-endian.
 */
import { lstatSync, statSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { basename, dirname, join } from "node:path";

import { Stream, StreamEnded } from "./stream.js";

const HEADER = 4;

/**
 * Where this process finds a ticket's `unixSocketPath`: REGLUE_UNIX_SOCKET_DIR replaces all but
 * its last two parts.
 */
export function pathHere(unixSocketPath: string): string {
  const here = process.env["REGLUE_UNIX_SOCKET_DIR"];
  return here
    ? join(here, basename(dirname(unixSocketPath)), basename(unixSocketPath))
    : unixSocketPath;
}

/**
 * Why `path` is not a glue's socket; undefined if it may be one.
 *
 * A ticket names a path, and must not lead its holder to another service of this host. The file's
 * name is its role, in a folder reglue-… of the same user, where nobody else can put files. Any
 * user may own it, since glues let other users in. The connection reports a missing file. Throws the
 * system's error where this user may not look.
 */
export function foreign(path: string): string | undefined {
  const folder = dirname(path);
  const isRole = ["agent", "environment", "experiment"].includes(basename(path));
  if (!isRole || !basename(folder).startsWith("reglue-")) {
    return "a glue's is called reglue-…/agent, environment or experiment";
  }
  const socket = lstatSync(path, { throwIfNoEntry: false });
  const around = statSync(folder, { throwIfNoEntry: false });
  if (socket === undefined || around === undefined) return undefined;
  if (!socket.isSocket()) return "it is no socket";
  if (socket.uid !== around.uid || (around.mode & 0o022) !== 0) {
    return "others than its owner can put files into its folder";
  }
  return undefined;
}

/** A socket connected to `path`. Rejects with the system's error. */
export function openSocket(path: string, timeoutMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path });
    const timer = setTimeout(() => socket.destroy(new Error("nobody answers")), timeoutMs);
    const failed = (error: Error) => {
      clearTimeout(timer);
      reject(error);
    };
    socket.once("error", failed);
    socket.once("connect", () => {
      clearTimeout(timer);
      socket.off("error", failed);
      resolve(socket);
    });
  });
}

/** Frames over a socket, which it owns. */
export class UnixSocketStream extends Stream {
  readonly #socket: Socket;
  #maxMessageBytes: number; // bytes of a message
  #length: number | undefined; // of the message whose header was taken

  constructor(socket: Socket, maxMessageBytes: number) {
    super();
    this.#socket = socket;
    this.#maxMessageBytes = maxMessageBytes;
    socket.on("readable", () => this.changed());
    socket.on("error", (error) => this.ended(gone(error.message)));
    socket.on("end", () => this.ended(gone("its end of the Unix socket is closed")));
    socket.on("close", () => this.ended(gone("the Unix socket is closed")));
  }

  /** From now on messages may be that large. */
  allow(maxMessageBytes: number): void {
    this.#maxMessageBytes = maxMessageBytes;
  }

  override send(message: Uint8Array): void {
    const header = Buffer.allocUnsafe(HEADER);
    header.writeUInt32LE(message.length);
    this.#socket.cork();
    this.#socket.write(header);
    this.#socket.write(message);
    this.#socket.uncork();
  }

  override sendLast(message: Uint8Array, timeoutMs: number): Promise<void> {
    this.send(message);
    return new Promise((resolve) => {
      this.#socket.end(resolve); // what it has taken arrives
      setTimeout(resolve, timeoutMs).unref();
    });
  }

  override close(): void {
    this.#socket.destroySoon(); // after sending what is queued
  }

  protected override take(): Uint8Array | undefined {
    this.#length ??= this.#read(HEADER)?.readUInt32LE();
    if (this.#length === undefined) return undefined;
    if (this.#length > this.#maxMessageBytes) {
      const got = `a message of ${this.#length} bytes, wanted at most ${this.#maxMessageBytes}`;
      this.#socket.destroy();
      throw gone(`got ${got}`);
    }
    const message = this.#length === 0 ? Buffer.alloc(0) : this.#read(this.#length);
    if (message !== undefined) this.#length = undefined;
    return message;
  }

  /** `size` bytes, or none. */
  #read(size: number): Buffer | undefined {
    const bytes = this.#socket.read(size) as Buffer | null;
    return bytes?.length === size ? bytes : undefined; // at its end a socket returns what is left
  }
}

function gone(why: string): StreamEnded {
  return new StreamEnded(`the glue went away: ${why}`);
}
