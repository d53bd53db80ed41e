/** How long a peer tries to reconnect, and the pauses between tries. */
import { setTimeout as sleep } from "node:timers/promises";

const ADMITTED_MS = 1000;

/**
 * Whether a stream was good: it brought a new call (`hasNewCall`), or the glue had admitted it for a
 * second (`admittedMs`). Less proves nothing: a call may break every stream that carries it.
 */
export function wasGood(admittedMs: number, hasNewCall: boolean): boolean {
  return hasNewCall || admittedMs >= ADMITTED_MS;
}

/** How long a peer tries: from the end of the last good stream, for `mostMs`. */
export class ReconnectWait {
  #since: number | undefined;
  #pauses = backoff();

  constructor(private readonly mostMs: number) {}

  /** A good stream has ended: the time begins anew with the next pause. */
  restart(): void {
    this.#since = undefined;
  }

  /** How long to wait before the next try; undefined if it is too late for one. */
  pauseMs(): number | undefined {
    const now = performance.now();
    if (this.#since === undefined) {
      this.#since = now;
      this.#pauses = backoff();
    }
    const pauseMs = this.#pauses.next().value;
    return now + pauseMs > this.#since + this.mostMs ? undefined : pauseMs;
  }
}

/** Milliseconds, without end: 50, then 1.6 times longer each time, up to 5 s. */
export function* backoff(): Generator<number, never> {
  for (let pauseMs = 50; ; pauseMs = Math.min(1.6 * pauseMs, 5000)) yield pauseMs;
}

/** Wait. Throws the signal's reason when it is aborted. */
export async function pause(pauseMs: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(pauseMs, undefined, { signal });
  } catch {
    throw signal.reason;
  }
}
