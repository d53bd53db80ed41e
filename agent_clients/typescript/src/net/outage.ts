/** A lost connection, as the log reports it. */
import type { Log } from "./log.js";

/** Logs one line when the connection is lost and one when it is back, however many tries are between. */
export class Outage {
  #begun: number | undefined;
  #isForgotten = false;

  constructor(private readonly log: Log) {}

  /** A stream has ended, for `why`, and others are tried for `mostMs`. */
  begin(why: string, mostMs: number): void {
    if (this.#begun !== undefined) return;
    this.#begun = performance.now();
    this.log("warning", `lost the connection, reconnecting for up to ${seconds(mostMs)}: ${why}`);
  }

  /** The glue does not know the session any more, and the peer joins again. */
  forget(): void {
    if (!this.#isForgotten) {
      this.log("warning", "the glue has forgotten this session; joining anew");
    }
    this.#isForgotten = true;
  }

  /** The glue has admitted the peer. */
  end(): void {
    if (this.#begun !== undefined) {
      this.log("warning", `connected again after ${seconds(performance.now() - this.#begun)}`);
    }
    this.#begun = undefined;
    this.#isForgotten = false;
  }
}

function seconds(timeMs: number): string {
  return `${(timeMs / 1000).toFixed(1)} s`;
}
