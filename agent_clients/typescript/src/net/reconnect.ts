/** How long an agent whose stream broke tries to come back, and the pauses between tries. */
import { setTimeout as sleep } from "node:timers/promises";

const STOOD_MS = 1000;

/** From the last stream that was any good, until nobody waits any more. */
export class ReconnectWait {
  #since: number | undefined;
  #pauses = backoff();

  constructor(private readonly mostMs: number) {}

  /**
   * How long to wait before the next stream; undefined if it is too late for one.
   *
   * The last stream was good, and the absence begins with its end, if something new was heard on
   * it (`hasHeard`) or it stood for a second with this agent seated (`stoodMs`). Less proves
   * nothing: a call may break every stream that it comes over.
   */
  pauseMs(stoodMs: number, hasHeard: boolean): number | undefined {
    const now = performance.now();
    if (this.#since === undefined || hasHeard || stoodMs >= STOOD_MS) {
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

/** Wait so long. Throws the signal's reason when that is aborted. */
export async function pause(pauseMs: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(pauseMs, undefined, { signal });
  } catch {
    throw signal.reason;
  }
}
