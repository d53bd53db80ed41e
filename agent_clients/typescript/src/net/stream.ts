/** One stream of a session, as the session uses it: gRPC's, or a Unix socket. */
import { type ReglueError, SessionLost } from "../errors.js";
import { refusal } from "./lobby.js";
import { glueText } from "../text.js";

/** The stream ended: why, in words that may be the glue's, and gRPC's status if there is one. */
export class StreamEnded extends Error {
  constructor(
    why: string,
    readonly code?: number,
  ) {
    super(glueText(why));
  }

  /** The refusal's error, or SessionLost. */
  meaning(): ReglueError {
    const error = refusal(this.code, this.message) ?? new SessionLost(this.message);
    error.cause = this;
    return error;
  }
}

const LONGEST_TIMER_MS = 2 ** 31 - 1; // Node makes 1 ms of a longer one

/** Messages in both directions, as bytes. One reader at a time. */
export abstract class Stream {
  #ended: StreamEnded | undefined;
  #openedAt: number | undefined;
  #wake: () => void = () => {};
  #admit: () => void = () => {};

  /** Resolves when the glue has admitted this peer; stays pending if it never does. */
  readonly admitted = new Promise<void>((resolve) => (this.#admit = resolve));

  /** Send a message; a broken stream shows when receiving. */
  abstract send(message: Uint8Array): void;

  /** As `send`, and wait until the message has arrived, at most `timeoutMs`. */
  abstract sendLast(message: Uint8Array, timeoutMs: number): Promise<void>;

  /** End it from this side. */
  abstract close(): void;

  /** The next message; undefined if none came in time. Throws StreamEnded, the signal's reason. */
  async receive(timeoutMs?: number, signal?: AbortSignal): Promise<Uint8Array | undefined> {
    const until = timeoutMs === undefined ? undefined : performance.now() + timeoutMs;
    const interrupt = () => this.#wake();
    signal?.addEventListener("abort", interrupt);
    try {
      for (;;) {
        signal?.throwIfAborted();
        const message = this.take();
        if (message !== undefined) return message;
        if (this.#ended !== undefined) throw this.#ended;
        const leftMs = until === undefined ? undefined : until - performance.now();
        if (leftMs !== undefined && leftMs <= 0) return undefined;
        await this.#change(leftMs);
      }
    } finally {
      signal?.removeEventListener("abort", interrupt);
    }
  }

  /** The glue has admitted this peer. */
  opened(): void {
    this.#openedAt ??= performance.now();
    this.#admit();
  }

  /** For how many milliseconds the glue has admitted it; 0 if it has not. */
  get admittedMs(): number {
    return this.#openedAt === undefined ? 0 : performance.now() - this.#openedAt;
  }

  /** The next message, if it is complete. */
  protected abstract take(): Uint8Array | undefined;

  /** Something arrived. */
  protected changed(): void {
    this.#wake();
  }

  /** Nothing more arrives. */
  protected ended(end: StreamEnded): void {
    this.#ended ??= end;
    this.#wake();
  }

  #change(timeoutMs: number | undefined): Promise<void> {
    return new Promise((resolve) => {
      const timer =
        timeoutMs === undefined
          ? undefined
          : setTimeout(resolve, Math.min(timeoutMs, LONGEST_TIMER_MS));
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
