/** Pauses between tries. */
import { setTimeout as sleep } from "node:timers/promises";

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
