/**
 * A session of a peer that answers calls, an agent or an environment: join, say hello, answer,
 * reconnect if the stream breaks, leave.
 */
import { setImmediate as nextRound } from "node:timers/promises";

import { status } from "@grpc/grpc-js";

import {
  BadCall,
  ReglueError,
  SessionLost,
  SpecError,
  Unreachable,
  UsageError,
} from "../errors.js";
import type { AgentCall } from "../gen/reglue/v1/agent_pb.js";
import type { EnvironmentCall } from "../gen/reglue/v1/environment_pb.js";
import type { Ticket } from "../gen/reglue/v1/lobby_pb.js";
import type { JoinString } from "./join_string.js";
import { type Greeting, greeting, join, type Joining } from "./lobby.js";
import { failure, trace } from "./log.js";
import { Outage } from "./outage.js";
import { pause, ReconnectWait, wasGood } from "./reconnect.js";
import { Route, type Transport } from "./route.js";
import { type Stream, StreamEnded } from "./stream.js";
import { glueText } from "../text.js";

/** Answers that are remembered: as many calls may be under way at once. */
const WINDOW = 8;

const FAREWELL_MS = 5000; // how long a failed peer waits for the glue's last word
/** The farewell of a peer that a signal ends. */
export const INTERRUPTED = "interrupted";
/** How long it waits for that farewell to arrive. */
export const ARRIVES_MS = 50;
const LONG_MS = 50; // a peer that took longer may have kept Node from hearing the glue

/** How a session is played. */
export interface Playing extends Joining {
  readonly transport: Transport;
}

/** Who answers calls, in the messages of its role. */
export interface Peer<Message extends AgentCall | EnvironmentCall> {
  readonly kind: "agent" | "environment";
  /** The message that begins a stream. */
  hello(greeting: Greeting): Uint8Array;
  /** The call in these bytes, its contents not yet looked at. Throws BadCall. */
  read(bytes: Uint8Array): Message;
  /**
   * What carries the call out once, and returns the message that answers it.
   *
   * Throws BadCall and SpecError for a call that is not of this session; what it returns throws
   * whatever the peer throws.
   */
  decode(message: Message): () => Promise<Uint8Array>;
  /** The message that says what failed, as the answer to call `seq`; with 0 it answers no call. */
  fault(seq: bigint, what: string): Uint8Array;
}

/** The glue does not know the session any more: the peer may join anew. `cause` is why. */
class Forgotten extends Error {}

/** The stream has ended, and the routine that is under way awaits what can never come. */
class NeverSettles extends SessionLost {}

const gaveUp = (error: SessionLost) =>
  new SessionLost(
    `${error.message}; gave up. A competition keeps its submissions: join again under the same ` +
      "name, and if its organiser has announced a new address, put it into the join string",
    { cause: error.cause },
  );

/** The author's own code threw `cause`; the glue and the author have been informed. */
export class PeerFailed extends Error {}

/** Play until the farewell; returns its reason. Throws as `connect`, and PeerFailed. */
export async function playSession<Message extends AgentCall | EnvironmentCall>(
  peer: Peer<Message>,
  where: JoinString,
  playing: Playing,
): Promise<string> {
  const outage = new Outage(playing.log);
  const rejoinWait = new ReconnectWait(playing.connectTimeoutMs); // for a ticket with a good stream
  let forgotten: unknown; // why the last ticket was given up
  for (;;) {
    const ticket = await join(where, playing).catch((error: unknown) => {
      // A glue has answered at this address before.
      throw error instanceof Unreachable && forgotten !== undefined ? forgotten : error;
    });
    const session = new Session(peer, where, ticket, playing, outage);
    try {
      return await session.play();
    } catch (error) {
      if (!(error instanceof Forgotten)) throw error;
      if (session.hadGoodStream) rejoinWait.restart();
      const pauseMs = rejoinWait.pauseMs();
      if (pauseMs === undefined) throw error.cause;
      forgotten = error.cause;
      outage.forget();
      await pause(pauseMs, playing.signal);
    }
  }
}

/** A call that was received, and what carries it out; nothing does a refusal or a farewell. */
interface Received<Message> {
  readonly message: Message;
  readonly bytes: number;
  readonly carryOut: (() => Promise<Uint8Array>) | undefined;
}

/** A peer's end of one ticket's session: every call is carried out once, whatever breaks. */
class Session<Message extends AgentCall | EnvironmentCall> {
  readonly #route: Route;
  readonly #answers = new Map<bigint, Uint8Array>(); // to the last calls, oldest first
  #taken = 0n; // number of the last call that was taken in
  #isAdmitted = false; // at the glue, by an earlier stream
  #admittedMs = 0; // of the last stream
  /** One that brought a call, or that the glue had admitted for a second. */
  hadGoodStream = false;

  constructor(
    private readonly peer: Peer<Message>,
    where: JoinString,
    private readonly ticket: Ticket,
    private readonly playing: Playing,
    private readonly outage: Outage,
  ) {
    this.#route = new Route(where, ticket, playing);
  }

  /** Stream after stream. Throws Forgotten if the glue does not know the session any more. */
  async play(): Promise<string> {
    const mostMs = Number(this.ticket.reconnectWindowUs) / 1000;
    const reconnectWait = new ReconnectWait(mostMs);
    for (;;) {
      const takenBefore = this.#taken;
      this.#admittedMs = 0;
      try {
        return await this.#stream();
      } catch (error) {
        if (wasGood(this.#admittedMs, this.#taken > takenBefore)) {
          this.hadGoodStream = true;
          reconnectWait.restart();
        }
        if (this.#isForgotten(error)) throw new Forgotten("", { cause: error });
        if (!(error instanceof SessionLost) || !(error.cause instanceof StreamEnded)) throw error;
        const pauseMs = reconnectWait.pauseMs();
        if (pauseMs === undefined) {
          if (this.ticket.address === "") throw mostMs > 0 ? gaveUp(error) : error;
          throw new Forgotten("", { cause: error }); // the run is gone, not its hub
        }
        this.outage.begin(error.message, mostMs);
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
    const stream = await this.#open();
    this.#isAdmitted = true;
    void stream.admitted.then(() => this.outage.end());
    try {
      return await this.#answer(stream);
    } finally {
      this.#admittedMs = stream.admittedMs;
      stream.close();
    }
  }

  /** A new stream, after its hello. */
  async #open(): Promise<Stream> {
    const hello = this.peer.hello(greeting(this.ticket, this.#taken));
    try {
      const { signal } = this.playing;
      return await this.#route.open(hello, this.#taken, { isBack: this.#isAdmitted, signal });
    } catch (error) {
      throw error instanceof StreamEnded ? error.meaning() : error;
    }
  }

  async #answer(stream: Stream): Promise<string> {
    for (;;) {
      const { message, bytes, carryOut } = await this.#next(stream);
      const { seq, call }: AgentCall | EnvironmentCall = message;
      const began = performance.now();
      const answer = carryOut && (await this.#answered(stream, message, carryOut));
      trace({
        call: call.case!,
        bytes,
        answerBytes: answer?.length,
        tookMs: performance.now() - began,
      });
      if (call.case === "farewell") return glueText(call.value.reason);
      if (call.case === "refusal") {
        const { ofSeq, got, wanted } = call.value;
        const words = `reply ${ofSeq} was refused: got ${glueText(got)}, wanted ${glueText(wanted)}`;
        this.playing.log("error", words);
      }
      this.#taken = seq;
      if (answer !== undefined) {
        this.#remember(seq, answer);
        stream.send(answer);
      }
    }
  }

  /**
   * The answer to a call. Throws PeerFailed, after telling the glue; NeverSettles, and the signal's
   * reason.
   */
  async #answered(
    stream: Stream,
    { seq, call }: AgentCall | EnvironmentCall,
    carryOut: () => Promise<Uint8Array>,
  ): Promise<Uint8Array> {
    try {
      return this.#checked(await this.#carriedOut(call.case!, carryOut));
    } catch (error) {
      if (error instanceof NeverSettles) throw error;
      const { signal } = this.playing;
      if (signal.aborted && error === signal.reason) {
        await this.#sayInterrupted(stream);
        throw error;
      }
      await this.#fault(stream, seq, error);
      throw new PeerFailed("", { cause: error });
    }
  }

  /** Rejects when the session is interrupted, and when what the peer waits for can never come. */
  async #carriedOut(call: string, carryOut: () => Promise<Uint8Array>): Promise<Uint8Array> {
    const began = performance.now();
    const { signal } = this.playing;
    const answer = await new Promise<Uint8Array>((resolve, reject) => {
      signal.throwIfAborted();
      const interrupt = () => reject(signal.reason as Error);
      // Node is about to leave: the stream has ended, and nothing else could settle the promise.
      const words = `the ${this.peer.kind}'s ${call} awaits a promise that never settles`;
      const never = () => reject(new NeverSettles(`the session is over, and ${words}`));
      signal.addEventListener("abort", interrupt);
      callBeforeExit(never);
      const ended = () => {
        signal.removeEventListener("abort", interrupt);
        doNotCall(never);
      };
      carryOut().finally(ended).then(resolve, reject);
    });
    if (performance.now() - began > LONG_MS) {
      await nextRound(); // the present round of Node's loop may have looked at its sockets before
      await nextRound();
    }
    return answer;
  }

  /** The next new call. Throws SessionLost, Refused. */
  async #next(stream: Stream): Promise<Received<Message>> {
    try {
      for (;;) {
        const bytes = (await stream.receive(undefined, this.playing.signal))!;
        const message = this.peer.read(bytes);
        const { seq, call }: AgentCall | EnvironmentCall = message;
        if (seq > this.#taken) {
          const isAnswered = call.case !== "refusal" && call.case !== "farewell";
          const carryOut = isAnswered ? this.peer.decode(message) : undefined;
          return { message, bytes: bytes.length, carryOut };
        }
        const answer = this.#answers.get(seq);
        if (answer !== undefined) stream.send(answer);
      }
    } catch (error) {
      if (error instanceof StreamEnded) throw error.meaning();
      if (error instanceof BadCall || error instanceof SpecError) {
        const what = `the glue sent what this client cannot read: ${glueText(error.message)}`;
        throw new SessionLost(what, { cause: error });
      }
      if (this.playing.signal.aborted) await this.#sayInterrupted(stream);
      throw error;
    }
  }

  /** Say that the peer failed; logs what it threw first, so that the author can read it at once. */
  async #fault(stream: Stream, seq: bigint, error: unknown): Promise<void> {
    const { what, where } = failure(error);
    this.playing.log("error", `the ${this.peer.kind} failed: ${where}`);
    await this.#sayFault(stream, seq, what);
  }

  #checked(answer: Uint8Array): Uint8Array {
    const maxBytes = this.#route.maxMessageBytes;
    if (answer.length > maxBytes) {
      throw new UsageError(`got an answer of ${answer.length} bytes, wanted at most ${maxBytes}`);
    }
    return answer;
  }

  #remember(seq: bigint, answer: Uint8Array): void {
    this.#answers.set(seq, answer);
    if (this.#answers.size > WINDOW) this.#answers.delete(this.#answers.keys().next().value!);
  }

  #sayInterrupted(stream: Stream): Promise<void> {
    return stream.sendLast(this.peer.fault(0n, INTERRUPTED), ARRIVES_MS);
  }

  /** Send a Fault, and give the glue a moment to close the session. */
  async #sayFault(stream: Stream, seq: bigint, what: string): Promise<void> {
    stream.send(this.peer.fault(seq, what));
    const until = performance.now() + FAREWELL_MS;
    try {
      for (;;) {
        const bytes = await stream.receive(until - performance.now());
        if (bytes === undefined || this.peer.read(bytes).call.case === "farewell") return;
      }
    } catch {
      // The glue is gone too: the peer's own error says more.
    }
  }
}

/** What is called when Node is about to leave; by one listener, as Node warns of more than ten. */
const atExit = new Set<() => void>();

function callBeforeExit(call: () => void): void {
  if (atExit.size === 0) process.on("beforeExit", callAll);
  atExit.add(call);
}

function doNotCall(call: () => void): void {
  atExit.delete(call);
  if (atExit.size === 0) process.off("beforeExit", callAll);
}

function callAll(): void {
  for (const call of [...atExit]) {
    doNotCall(call);
    call();
  }
}
