/** A benchmark program's session: it calls, the glue replies, one call at a time. */
import { status } from "@grpc/grpc-js";

import { OutOfDomain, SessionLost } from "../errors.js";
import type { ExperimentReply } from "../gen/reglue/v1/experiment_pb.js";
import type { Ticket } from "../gen/reglue/v1/lobby_pb.js";
import { type Call, encodeCall, encodeHello, readReply } from "../wire/experiment.js";
import { glueText } from "../text.js";
import type { JoinString } from "./join_string.js";
import { greeting, join, refusal } from "./lobby.js";
import { trace } from "./log.js";
import { Outage } from "./outage.js";
import { pause, ReconnectWait, wasGood } from "./reconnect.js";
import { Route } from "./route.js";
import { ARRIVES_MS, INTERRUPTED, type Playing } from "./session.js";
import { type Stream, StreamEnded } from "./stream.js";

const LEFT = "the program has left";
const FAREWELL_MS = 5000; // to connect again, and for the glue to end the other sessions

/** Numbers calls, and repeats each until it is answered, over as many streams as needed. */
export class ExperimentSession {
  readonly #route: Route;
  readonly #outage: Outage;
  readonly #givingUp = new AbortController();
  readonly #signal: AbortSignal; // the program is interrupted, or gives up
  #stream: Stream | undefined;
  #answered = 0n; // number of the last call whose reply has come
  #isAdmitted = false; // by the glue, which must learn when we leave
  #over: Error | undefined; // why the session is over

  private constructor(
    where: JoinString,
    private readonly ticket: Ticket,
    private readonly playing: Playing,
    private readonly timeoutMs: number,
  ) {
    this.#route = new Route(where, ticket, playing);
    this.#outage = new Outage(playing.log);
    this.#signal = AbortSignal.any([playing.signal, this.#givingUp.signal]);
  }

  /** Joins. Throws Unreachable, Refused, and the signal's reason. */
  static async join(
    where: JoinString,
    playing: Playing,
    timeoutMs: number,
  ): Promise<ExperimentSession> {
    return new ExperimentSession(where, await join(where, playing), playing, timeoutMs);
  }

  /**
   * The reply to a call. The one before must have been answered.
   *
   * Throws OutOfDomain for a call that is too large for a message; SessionLost, Refused and the
   * signal's reason, and the session is over then.
   */
  async exchange(call: Call): Promise<ExperimentReply> {
    if (this.#over !== undefined) throw new SessionLost(this.#over.message, { cause: this.#over });
    const bytes = encodeCall(this.#answered + 1n, call);
    const maxBytes = this.#route.maxMessageBytes;
    if (bytes.length > maxBytes)
      throw new OutOfDomain(`a call of ${bytes.length} bytes`, `at most ${maxBytes}`);
    const began = performance.now();
    try {
      const { reply, size } = await this.#repeated(bytes, began + this.timeoutMs);
      this.#answered++;
      const tookMs = performance.now() - began;
      trace({ call: call.case, bytes: bytes.length, answerBytes: size, tookMs });
      return reply;
    } catch (error) {
      this.#over = error as Error;
      throw error;
    }
  }

  /** The glue's reply does not fit: the session is over. */
  lose(error: Error): SessionLost {
    const what = `the glue sent what this client cannot read: ${glueText(error.message)}`;
    this.#over = new SessionLost(what, { cause: error });
    return this.#over;
  }

  /** The call under way and those that follow throw SessionLost. */
  giveUp(): void {
    this.#givingUp.abort(new SessionLost(LEFT));
  }

  /** Says farewell, over a new stream if it broke, and ends the stream. */
  async leave(): Promise<void> {
    if (this.#isAdmitted) {
      const late = AbortSignal.timeout(FAREWELL_MS);
      try {
        const stream = await this.#opened(late);
        if (this.playing.signal.aborted) {
          await stream.sendLast(goodbye(INTERRUPTED), ARRIVES_MS);
        } else {
          stream.send(goodbye(LEFT));
          for (;;) await stream.receive(undefined, late);
        }
      } catch {
        // The stream has ended as it should, or the glue is gone too.
      }
    }
    this.#isAdmitted = false;
    this.#close();
    this.#over ??= new SessionLost(LEFT);
  }

  /** Send the call, over stream after stream, until its reply comes. */
  async #repeated(
    bytes: Uint8Array,
    until: number,
  ): Promise<{ reply: ExperimentReply; size: number }> {
    const mostMs = Number(this.ticket.reconnectWindowUs) / 1000;
    const reconnectWait = new ReconnectWait(mostMs);
    for (;;) {
      try {
        const stream = await this.#opened(this.#signal);
        stream.send(bytes);
        return await this.#reply(stream, until);
      } catch (error) {
        if (wasGood(this.#stream?.admittedMs ?? 0, false)) reconnectWait.restart();
        this.#close();
        if (!(error instanceof StreamEnded)) throw error;
        this.#checkRefusal(error);
        const pauseMs = reconnectWait.pauseMs();
        if (pauseMs === undefined || performance.now() + pauseMs > until) throw error.meaning();
        this.#outage.begin(error.message, mostMs);
        await pause(pauseMs, this.#signal);
      }
    }
  }

  /** Throws if the glue refused the hello. */
  #checkRefusal(end: StreamEnded): void {
    if (refusal(end.code, end.message) === undefined) return;
    const wasAdmitted = this.#isAdmitted;
    this.#isAdmitted = false;
    if (end.code !== status.UNAUTHENTICATED || !wasAdmitted) throw end.meaning();
    throw new SessionLost("the glue does not know this session any more", { cause: end });
  }

  /** The reply to the last call. Throws StreamEnded, and SessionLost for a farewell or if it is late. */
  async #reply(stream: Stream, until: number): Promise<{ reply: ExperimentReply; size: number }> {
    for (;;) {
      const bytes = await stream.receive(until - performance.now(), this.#signal);
      if (bytes === undefined) throw this.#late();
      const reply = this.#read(bytes);
      if (reply.reply.case === "farewell") {
        this.#isAdmitted = false;
        throw new SessionLost(
          `the glue has ended the session: ${glueText(reply.reply.value.reason)}`,
        );
      }
      if (reply.seq === this.#answered + 1n) return { reply, size: bytes.length };
    }
  }

  #read(bytes: Uint8Array): ExperimentReply {
    try {
      return readReply(bytes);
    } catch (error) {
      throw this.lose(error as Error);
    }
  }

  #late(): SessionLost {
    const took = `the routine took longer than its ${this.timeoutMs / 1000} s`;
    return new SessionLost(`${took}: are an agent and an environment there? The session is over`);
  }

  /** The stream, or a new one after its hello. Throws StreamEnded, UsageError, the signal's reason. */
  async #opened(signal: AbortSignal): Promise<Stream> {
    if (this.#stream === undefined) {
      const hello = { ...greeting(this.ticket, this.#answered), experiment: this.playing.name };
      const bytes = encodeHello(hello);
      const isBack = this.#isAdmitted;
      const stream = await this.#route.open(bytes, this.#answered, { isBack, signal });
      this.#stream = stream;
      this.#isAdmitted = true;
      void stream.admitted.then(() => this.#outage.end());
    }
    return this.#stream;
  }

  #close(): void {
    this.#stream?.close();
    this.#stream = undefined;
  }
}

function goodbye(reason: string): Uint8Array {
  return encodeCall(0n, { case: "farewell", value: { reason } });
}
