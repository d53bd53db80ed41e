/** One session: join, say hello, answer calls, reconnect if the stream breaks, leave. */
import { setImmediate as nextRound } from "node:timers/promises";

import { status } from "@grpc/grpc-js";

import type { Agent } from "./agent.js";
import type { Call, Reply } from "./calls.js";
import { BadCall, ReglueError, SessionLost, SpecError, UsageError } from "./errors.js";
import type { Ticket } from "./gen/reglue/v1/lobby_pb.js";
import type { JoinString } from "./net/join_string.js";
import { helloProof, join } from "./net/lobby.js";
import { backoff, pause, ReconnectWait } from "./net/reconnect.js";
import { Route, type Transport } from "./net/route.js";
import { type Stream, StreamEnded } from "./net/stream.js";
import { play } from "./player.js";
import type { TaskSpec } from "./spec.js";
import { PROTOCOL_MAJOR, PROTOCOL_MINOR, SDK } from "./version.js";
import {
  decodeBudget,
  decodeCall,
  encodeHello,
  encodeReply,
  type Raw,
  readMessage,
} from "./wire/messages.js";
import { told } from "./words.js";

/** Answers that are remembered: as many calls may be under way at once. */
const WINDOW = 8;

const FAREWELL_MS = 5000; // how long a faulted agent waits for the glue's last word
const END_MS = 2000; // and one that was interrupted
const LONG_MS = 50; // an agent that took longer may have kept Node from hearing the glue

/** How a session is played. */
export interface Playing {
  readonly name: string;
  readonly connectTimeoutMs: number;
  readonly transport: Transport;
  readonly signal: AbortSignal;
  readonly log: (words: string) => void;
}

/** The glue does not know the session any more: the agent may join anew. */
class Forgotten extends Error {}

/** Play until the farewell; returns its reason. Throws as `connect`. */
export async function playSession(
  agent: Agent,
  where: JoinString,
  playing: Playing,
): Promise<string> {
  for (const pauseMs of backoff()) {
    const ticket = await join(where, playing);
    try {
      return await new Session(agent, where, ticket, playing).play();
    } catch (error) {
      if (!(error instanceof Forgotten)) throw error;
      playing.log("the glue has forgotten this session; joining anew");
      await pause(pauseMs, playing.signal);
    }
  }
  throw new Error("the backoff never ends");
}

/** An agent's end of one ticket's session: every call is carried out once, whatever breaks. */
class Session {
  readonly #route: Route;
  readonly #answers = new Map<bigint, Uint8Array>(); // to the last calls, oldest first
  #spec: TaskSpec | undefined;
  #taken = 0n; // number of the last call that was taken in
  #isAdmitted = false; // at the glue, by an earlier stream
  #admittedMs = 0; // of the last stream
  #stop: ((reason: unknown) => void) | undefined; // rejects the routine under way

  constructor(
    private readonly agent: Agent,
    where: JoinString,
    private readonly ticket: Ticket,
    private readonly playing: Playing,
  ) {
    this.#route = new Route(where, ticket, playing.transport, playing.log);
  }

  /** Stream after stream. Throws Forgotten if the glue does not know the session any more. */
  async play(): Promise<string> {
    const reconnectWait = new ReconnectWait(
      Math.min(Number(this.ticket.reconnectWindowUs) / 1000, this.playing.connectTimeoutMs),
    );
    for (;;) {
      const heard = this.#taken;
      this.#admittedMs = 0;
      try {
        return await this.#stream();
      } catch (error) {
        if (this.#isForgotten(error)) throw new Forgotten();
        if (!(error instanceof SessionLost) || !(error.cause instanceof StreamEnded)) throw error;
        const pauseMs = reconnectWait.pauseMs(this.#admittedMs, this.#taken > heard);
        if (pauseMs === undefined) {
          if (this.ticket.address !== "") throw new Forgotten(); // the run is gone, not its hub
          throw error;
        }
        this.playing.log(`the connection broke, coming back: ${error.message}`);
        await pause(pauseMs, this.playing.signal);
      }
    }
  }

  #isForgotten(error: unknown): boolean {
    if (this.ticket.reconnectWindowUs === 0n || !(error instanceof ReglueError)) return false;
    return error.cause instanceof StreamEnded && error.cause.code === status.UNAUTHENTICATED;
  }

  /** One stream, to the farewell. Throws SessionLost if it breaks. */
  async #stream(): Promise<string> {
    const { signal } = this.playing;
    const stream = await this.#open();
    this.#isAdmitted = true;
    const interrupt = () => {
      if (this.#stop !== undefined) this.#stop(signal.reason);
      else stream.interrupt(signal.reason);
    };
    if (signal.aborted) interrupt();
    signal.addEventListener("abort", interrupt);
    try {
      return await this.#answer(stream);
    } finally {
      signal.removeEventListener("abort", interrupt);
      this.#admittedMs = stream.admittedMs;
      stream.close();
    }
  }

  /** A new stream, after its hello. */
  async #open(): Promise<Stream> {
    const { session, secret } = this.ticket;
    const hello = encodeHello({
      major: PROTOCOL_MAJOR,
      minor: PROTOCOL_MINOR,
      sdk: SDK,
      agent: this.playing.name.slice(0, 200),
      maxSlots: this.agent.maxSlots,
      partialTurns: this.agent.partialTurns,
      adapts: this.agent.adapts,
      episodic: this.agent.episodic,
      session,
      proof: helloProof(secret, session, this.#taken),
      answered: this.#taken,
    });
    try {
      return await this.#route.open(hello, this.#taken, this.#isAdmitted);
    } catch (error) {
      throw error instanceof StreamEnded ? error.meaning() : error;
    }
  }

  async #answer(stream: Stream): Promise<string> {
    for (;;) {
      const { message, call } = await this.#next(stream);
      if (call.kind === "farewell") return call.reason;
      if (call.kind === "refusal") {
        this.playing.log(`reply ${call.ofSeq} was refused: got ${call.got}, wanted ${call.wanted}`);
      }
      let answer: Uint8Array | undefined;
      try {
        this.agent.budget = decodeBudget(message);
        const reply = await this.#played(call);
        answer = reply && this.#checked(encodeReply(message.seq, reply));
      } catch (error) {
        await this.#fault(stream, message.seq, error);
        throw error;
      }
      this.#taken = message.seq;
      if (answer !== undefined) {
        this.#remember(message.seq, answer);
        stream.send(answer);
      }
    }
  }

  /** The agent's reply. Rejects when the session is interrupted, whatever the agent waits for. */
  async #played(call: Call): Promise<Reply | undefined> {
    const began = performance.now();
    const reply = await new Promise<Reply | undefined>((resolve, reject) => {
      this.#stop = reject;
      const ended = () => (this.#stop = undefined);
      play(this.agent, call).finally(ended).then(resolve, reject);
    });
    if (performance.now() - began > LONG_MS) {
      await nextRound(); // the present round of Node's loop may have looked at its sockets before
      await nextRound();
    }
    return reply;
  }

  /** The next new call. Throws SessionLost, Refused. */
  async #next(stream: Stream): Promise<{ message: Raw; call: Call }> {
    try {
      for (;;) {
        const message = readMessage((await stream.receive())!);
        if (message.seq > this.#taken) {
          const call = decodeCall(message, this.#spec);
          if (call.kind === "init") this.#spec = call.spec;
          return { message, call };
        }
        const answer = this.#answers.get(message.seq);
        if (answer !== undefined) stream.send(answer);
      }
    } catch (error) {
      if (error instanceof StreamEnded) throw error.meaning();
      if (error instanceof BadCall || error instanceof SpecError) {
        const what = `the glue sent what this client cannot read: ${told(error.message)}`;
        throw new SessionLost(what, { cause: error });
      }
      if (this.playing.signal.aborted) await sayInterrupted(stream);
      throw error;
    }
  }

  /** Say that the agent failed; logs what it threw first, so that the author can read it at once. */
  async #fault(stream: Stream, seq: bigint, error: unknown): Promise<void> {
    const { aborted, reason } = this.playing.signal;
    if (aborted && error === reason) return sayInterrupted(stream);
    const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    this.playing.log(`the agent failed: ${(error instanceof Error && error.stack) || what}`);
    await sayFault(stream, seq, what, FAREWELL_MS);
  }

  #checked(answer: Uint8Array): Uint8Array {
    const most = this.#route.maxMessageBytes;
    if (answer.length > most) {
      throw new UsageError(`got an answer of ${answer.length} bytes, wanted at most ${most}`);
    }
    return answer;
  }

  #remember(seq: bigint, answer: Uint8Array): void {
    this.#answers.set(seq, answer);
    if (this.#answers.size > WINDOW) this.#answers.delete(this.#answers.keys().next().value!);
  }
}

function sayInterrupted(stream: Stream): Promise<void> {
  return sayFault(stream, 0n, "interrupted", END_MS);
}

/** Send a Fault, and give the glue a moment to close the session. */
async function sayFault(
  stream: Stream,
  seq: bigint,
  what: string,
  timeoutMs: number,
): Promise<void> {
  stream.send(encodeReply(seq, { kind: "fault", what }));
  const until = performance.now() + timeoutMs;
  try {
    for (;;) {
      const bytes = await stream.receive(until - performance.now());
      if (bytes === undefined || readMessage(bytes).call.case === "farewell") return;
    }
  } catch {
    // The glue is gone too: the agent's own error says more.
  }
}
