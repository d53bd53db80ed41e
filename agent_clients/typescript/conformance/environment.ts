/** The environment that `reglue conformance environment` plays: proto/CONFORMANCE.md. */
import {
  type Arrays,
  type Begun,
  type Cell,
  type Cells,
  type Earned,
  Environment,
  OutOfOrder,
  Phase,
  type Rows,
  type Task,
  type TaskDescription,
  TensorSpec,
  UnknownKey,
} from "reglue";

import { answer, FAILURE } from "./commands.js";
import { bytesOf, draw, elements, fold, START } from "./rule.js";
import { parted, taskOfWords } from "./words.js";

/** One slot's episode; all but the first three follow from its cell. */
interface Episode {
  memory: number;
  rng: number;
  steps: number;
  readonly length: number; // steps
  readonly timesOut: boolean; // truncated at its length, else terminated
  readonly isJudged: boolean; // success ends it
}

/** What a memory makes after the observations. */
const EARNED = [new TensorSpec("/reward", "float64"), new TensorSpec("/success", "bool")];

const STATE = "state ";
const RANDOM = "random ";

/** Every observation is a function of its episode's cell and actions. */
export class ConformanceEnvironment extends Environment {
  readonly counts = {
    init: 0,
    start: 0,
    step: 0,
    get_state: 0,
    set_state: 0,
    get_random_seed: 0,
    set_random_seed: 0,
    standardize_randomness: 0,
    message: 0,
    cleanup: 0,
  };
  #plays: TaskDescription = {
    observations: [new TensorSpec("observation", "float64")],
    actions: [new TensorSpec("action", "float64")],
  };
  #episodes = new Map<number, Episode>(); // by slot
  #standard: { readonly seed: bigint; starts: bigint } | undefined;
  #failing: number | undefined; // slot, in the next Play

  override get tasks(): readonly Task[] {
    return [
      { name: "first", variants: 4 },
      { name: "second/één", variants: 1 },
    ];
  }

  override get portable(): boolean {
    return true;
  }

  override envInit(): TaskDescription {
    this.counts.init++;
    this.#episodes.clear();
    this.#standard = undefined;
    this.#failing = undefined;
    return this.#plays;
  }

  override envStart({ slots, cells }: Cells): Begun {
    this.counts.start += slots.length;
    slots.forEach((slot, row) => this.#episodes.set(slot, begun(this.#numbered(cells[row]!))));
    const { observations } = this.#observations(slots, []);
    return { observations, faults: this.#faults(slots) };
  }

  override envStep(actions: Arrays, slots: Uint32Array): Earned {
    this.counts.step += slots.length;
    const taken = this.spec.actions.map(({ name }) => actions[name]!);
    const { observations, rewards, success } = this.#observations(slots, taken);
    const [terminated, truncated]: [boolean[], boolean[]] = [[], []];
    slots.forEach((slot, row) => {
      const episode = this.#on(slot, "env_step");
      const isLast = ++episode.steps === episode.length;
      terminated[row] = (isLast && !episode.timesOut) || (success[row] === 1 && episode.isJudged);
      truncated[row] = isLast && episode.timesOut;
      if (terminated[row] || truncated[row]) this.#episodes.delete(slot);
    });
    const faults = this.#faults(slots);
    return { rewards, observations, terminated, truncated, success, faults };
  }

  override envGetState(slot: number): Uint8Array {
    const episode = this.#on(slot, "env_get_state");
    this.counts.get_state++;
    return Buffer.from(STATE + JSON.stringify(episode));
  }

  override envSetState(slot: number, state: Uint8Array): void {
    this.#episodes.set(slot, unmarked(STATE, state) as Episode);
    this.counts.set_state++;
  }

  override envGetRandomSeed(slot: number): Uint8Array {
    const { rng } = this.#on(slot, "env_get_random_seed");
    this.counts.get_random_seed++;
    return Buffer.from(RANDOM + JSON.stringify(rng));
  }

  override envSetRandomSeed(slot: number, seed: Uint8Array): void {
    const episode = this.#on(slot, "env_set_random_seed");
    episode.rng = unmarked(RANDOM, seed) as number;
    this.counts.set_random_seed++;
  }

  override envStandardizeRandomness(seed: bigint): void {
    this.counts.standardize_randomness++;
    this.#standard = { seed, starts: 0n };
  }

  override envMessage(message: string): Promise<string> {
    this.counts.message++;
    const [first, lines] = parted(message, "\n");
    const [command, argument] = parted(first, " ");
    if (first === "play") this.#plays = taskOfWords(lines);
    if (command === "fail" && argument !== "") this.#failing = Number(argument);
    return answer(message, this.counts);
  }

  override envCleanup(): void {
    this.counts.cleanup++;
    this.#episodes.clear();
  }

  /** With standardized randomness, the n-th start's cell. */
  #numbered(cell: Cell): Cell {
    if (this.#standard === undefined) return cell;
    return { ...cell, seed: this.#standard.seed, repeat: this.#standard.starts++ };
  }

  #on(slot: number, routine: string): Episode {
    const episode = this.#episodes.get(slot);
    if (episode !== undefined) return episode;
    throw new OutOfOrder(`${routine} in slot ${slot}`, "env_start there first");
  }

  /** The slots' memories take in their rows and their rng; what they show then. */
  #observations(slots: Uint32Array, taken: readonly Rows[]) {
    const memories = Array.from(slots, (slot, row) => {
      const episode = this.#on(slot, "env_step");
      for (const rows of taken) episode.memory = fold(episode.memory, bytesOf(rows.row(row)));
      episode.memory = fold(episode.memory, bytesOf(Uint32Array.of(episode.rng)));
      episode.rng = draw(episode.rng, 1);
      return episode.memory;
    });
    const {
      "/reward": reward,
      "/success": success,
      ...observations
    } = elements(memories, [...this.spec.observations, ...EARNED]);
    return {
      observations,
      rewards: reward!.data as Float64Array,
      success: success!.data as Uint8Array,
    };
  }

  /** The slot that must fail, if it plays now. */
  #faults(slots: Uint32Array): ReadonlyMap<number, string> {
    const failing = this.#failing;
    if (failing === undefined || !slots.includes(failing)) return new Map();
    this.#failing = undefined;
    this.#episodes.delete(failing);
    return new Map([[failing, FAILURE]]);
  }
}

/** An episode before its first observation. */
function begun({ task, variant, phase, steps, seed, repeat }: Cell): Episode {
  const blocks = [
    Buffer.from(task),
    bytesOf(Uint32Array.of(variant)),
    [phase],
    bytesOf(BigUint64Array.of(steps)),
  ];
  return {
    memory: blocks.reduce(fold, START),
    rng: [seed, repeat].map((each) => bytesOf(BigUint64Array.of(each))).reduce(fold, START),
    steps: 0,
    length: 2 + Number(seed % 6n),
    timesOut: variant % 2 === 1,
    isJudged: phase === Phase.Evaluate,
  };
}

/** The value behind a mark. Throws UnknownKey for other bytes. */
function unmarked(mark: string, bytes: Uint8Array): unknown {
  const text = Buffer.from(bytes).toString();
  if (!text.startsWith(mark)) {
    throw new UnknownKey(`${bytes.length} bytes`, `a ${mark}of this environment`);
  }
  return JSON.parse(text.slice(mark.length));
}
