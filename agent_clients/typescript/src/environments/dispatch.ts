/** Carries out a call on an environment: which routine answers which call. */
import { type Kind, type Part, stacked } from "../conforming.js";
import {
  BadCall,
  BadObservation,
  NotAnEnvironment,
  OutOfDomain,
  OutOfOrder,
  RoutineRefused,
} from "../errors.js";
import type * as pb from "../gen/reglue/v1/environment_pb.js";
import type { Greeting } from "../net/lobby.js";
import { failure, type Log } from "../net/log.js";
import type { Peer } from "../net/session.js";
import { type TaskDescription, taskSpec, type TaskSpec } from "../spec.js";
import {
  decodePlay,
  encodeHello,
  encodeReply,
  readEnvironmentCall,
  type Reply,
} from "../wire/environment.js";
import { bytesOf } from "../wire/tensors.js";
import { faultText } from "../text.js";
import type { Begun, Earned, Flags, Play, Played } from "./calls.js";
import { type Environment, tellSpec } from "./environment.js";

type Call = pb.EnvironmentCall["call"];

const DONE: Reply = { case: "done", value: {} };

const OBSERVATIONS: Kind = {
  noun: "observation",
  hint: "does it return them?",
  misfit: (what, got, wanted) => new BadObservation(what, got, wanted),
};

/** An environment, as its session asks it. */
export class EnvironmentPeer implements Peer<pb.EnvironmentCall> {
  readonly kind = "environment";
  readonly #environment: Environment;
  readonly #name: string;
  readonly #log: Log;
  #spec: TaskSpec | undefined; // from envInit on

  constructor(environment: Environment, { name, log }: { name: string; log: Log }) {
    [this.#environment, this.#name, this.#log] = [environment, name, log];
  }

  hello(greeting: Greeting): Uint8Array {
    const { maxSlots } = this.#environment;
    return encodeHello({ ...greeting, environment: this.#name, maxSlots });
  }

  read(bytes: Uint8Array): pb.EnvironmentCall {
    return readEnvironmentCall(bytes);
  }

  decode({ seq, call }: pb.EnvironmentCall): () => Promise<Uint8Array> {
    if (call.case === undefined) throw new BadCall("an unknown call", "one of protocol 1.0");
    if (call.case !== "play") return async () => encodeReply(seq, await this.#answer(seq, call));
    if (this.#spec === undefined) throw new BadCall("play before init", "init");
    const [spec, play] = [this.#spec, decodePlay(call.value, this.#spec)];
    return async () => encodeReply(seq, played(await this.#played(spec, play)));
  }

  fault(seq: bigint, what: string): Uint8Array {
    return encodeReply(seq, { case: "fault", value: { what: faultText(what) } });
  }

  /** What the environment throws in a Play is the fault of the slots. */
  async #played(spec: TaskSpec, play: Play): Promise<Played> {
    try {
      return await byRoutines(this.#environment, spec, play);
    } catch (error) {
      const { what, where } = failure(error);
      this.#log("error", `the environment failed, its episodes are void: ${where}`);
      return failed(spec, play, what);
    }
  }

  async #answer(seq: bigint, call: Call): Promise<Reply> {
    try {
      if (call.case === "message") {
        return {
          case: "message",
          value: { text: String((await this.#environment.envMessage(call.value.text)) ?? "") },
        };
      }
      if (call.case === "init") return await this.#init(call.value.slots);
      if (this.#spec === undefined) throw new OutOfOrder(`${call.case} before init`, "init first");
      return await routine(this.#environment, this.#spec, call);
    } catch (error) {
      if (!(error instanceof RoutineRefused)) throw error;
      return { case: "refusal", value: { ofSeq: seq, refused: error } };
    }
  }

  async #init(slots: number): Promise<Reply> {
    const { maxSlots } = this.#environment;
    if (slots < 1 || (maxSlots > 0 && slots > maxSlots)) {
      throw new OutOfDomain(`${slots} slots`, maxSlots > 0 ? `1 to ${maxSlots}` : "at least 1");
    }
    const task: unknown = await this.#environment.envInit(slots);
    if (typeof task !== "object" || task === null) {
      const wanted = "an object with observations and actions; does it return one?";
      throw new NotAnEnvironment(`envInit() returned ${String(task)}, wanted ${wanted}`);
    }
    const spec = taskSpec(task as TaskDescription, slots);
    tellSpec(this.#environment, spec);
    this.#spec = spec;
    const { tasks, restores, portable, seeds, standardizes } = this.#environment;
    const { tellsSuccess, wholeTurns, repeatable } = this.#environment;
    const abilities = { restores, portable, seeds, standardizes };
    return {
      case: "ready",
      value: { spec, tasks, ...abilities, tellsSuccess, wholeTurns, repeatable },
    };
  }
}

/** Any but init, play and message. */
async function routine(environment: Environment, spec: TaskSpec, call: Call): Promise<Reply> {
  const checked = (slot: number) => {
    if (slot < spec.slots) return slot;
    throw new OutOfDomain(`slot ${slot}`, `0 to ${spec.slots - 1}`);
  };
  switch (call.case) {
    case "getState":
      return snapshot("envGetState", await environment.envGetState(checked(call.value.slot)));
    case "setState":
      await environment.envSetState(checked(call.value.slot), call.value.snapshot);
      return DONE;
    case "getRandomSeed": {
      const seed = await environment.envGetRandomSeed(checked(call.value.slot));
      return snapshot("envGetRandomSeed", seed);
    }
    case "setRandomSeed":
      await environment.envSetRandomSeed(checked(call.value.slot), call.value.snapshot);
      return DONE;
    case "standardizeRandomness":
      await environment.envStandardizeRandomness(call.value.seed);
      return DONE;
    case "cleanup":
      await environment.envCleanup();
      return DONE;
    default:
      throw new Error(`${call.case} is no routine`);
  }
}

function snapshot(routine: string, bytes: unknown): Reply {
  if (bytes instanceof Uint8Array) return { case: "snapshot", value: { snapshot: bytes } };
  throw new NotAnEnvironment(`${routine}() returned ${String(bytes)}, wanted a Uint8Array`);
}

/** Steps, then starts. */
async function byRoutines(environment: Environment, spec: TaskSpec, play: Play): Promise<Played> {
  const { slots, actions, starts } = play;
  const [steps, begun] = [slots.length, starts.slots.length];
  const rewards = new Float64Array(steps);
  const flags = new Uint8Array(steps + begun);
  const faults = new Map<number, string>();
  const parts: Part[] = [];
  const take = (routine: string, answer: Begun | null | undefined, rows: number) => {
    if (typeof answer !== "object" || answer === null || !("observations" in answer)) {
      const wanted = "an object with observations; does it return one?";
      throw new NotAnEnvironment(`${routine}() returned ${String(answer)}, wanted ${wanted}`);
    }
    parts.push({ routine, answer: answer.observations, rows });
    for (const [slot, what] of answer.faults ?? []) faults.set(slot, what);
  };
  if (steps > 0) {
    const earned = await environment.envStep(actions, slots);
    take("envStep", earned, steps);
    rewards.set(finite(earned, steps));
    setFlags(flags, earned, steps);
  }
  if (begun > 0) take("envStart", await environment.envStart(starts), begun);
  const observations = stacked(spec.observations, parts, OBSERVATIONS).map(bytesOf);
  return { rewards, observations, flags, faults };
}

/** The rewards. Throws NotAnEnvironment. */
function finite({ rewards }: Earned, rows: number): ArrayLike<number> {
  if (rewards?.length !== rows) {
    throw new NotAnEnvironment(`envStep(): got ${rewards?.length} rewards, wanted ${rows}`);
  }
  for (const reward of rewards) {
    if (!Number.isFinite(reward)) {
      throw new NotAnEnvironment(`envStep(): got reward ${reward}, wanted a finite number`);
    }
  }
  return rewards;
}

/** The bits of the first rows. Throws NotAnEnvironment. */
function setFlags(flags: Uint8Array, earned: Earned, rows: number): void {
  const named = { terminated: 1, truncated: 2, success: 4 } as const;
  for (const name of ["terminated", "truncated", "success"] as const) {
    const flag: Flags = earned[name] ?? false;
    if (typeof flag !== "boolean" && flag.length !== rows) {
      const wanted = `${rows}, or one for all`;
      throw new NotAnEnvironment(`envStep(): got ${flag.length} of ${name}, wanted ${wanted}`);
    }
    for (let row = 0; row < rows; row++) {
      if (typeof flag === "boolean" ? flag : flag[row]) flags[row]! |= named[name];
    }
  }
}

/** Every slot's episode is void. */
function failed(spec: TaskSpec, { slots, starts }: Play, what: string): Played {
  const rows = slots.length + starts.slots.length;
  return {
    rewards: new Float64Array(slots.length),
    observations: spec.observations.map(({ rowBytes }) => new Uint8Array(rows * rowBytes)),
    flags: new Uint8Array(rows),
    faults: new Map([...slots, ...starts.slots].map((slot) => [slot, what])),
  };
}

function played(value: Played): Reply {
  return { case: "played", value };
}
