/** The agent that `reglue conformance agent` plays with: proto/CONFORMANCE.md. */
import {
  Actions,
  Agent,
  type Arrays,
  type Chosen,
  type Ends,
  Phase,
  type Starts,
  type Steps,
  type TaskSpec,
  type Turn,
} from "reglue";

import { answer, FAILURE } from "./commands.js";
import { bytesOf, elements, fold, START } from "./rule.js";
import { budgetWords, parted, specWords } from "./words.js";

/** Every action is a function of everything that its slot ever received. */
export class ConformanceAgent extends Agent {
  readonly counts = {
    init: 0,
    start: 0,
    step: 0,
    end: 0,
    freeze: 0,
    adapt_begin: 0,
    adapt: 0,
    message: 0,
    cleanup: 0,
  };
  #memories: number[] = []; // of each slot
  #abandon: number[] = []; // in the next turn
  #mustFail = false; // in the next turn

  override get partialTurns(): boolean {
    return true;
  }

  override agentInit(spec: TaskSpec): void {
    this.counts.init++;
    this.#memories = Array<number>(spec.slots).fill(START);
  }

  override agentStart(observations: Arrays, { slots, seeds }: Starts): Chosen {
    this.counts.start += slots.length;
    return this.#act(this.#take(3, slots, observations, [(row) => bytesOf(at(seeds, row))]));
  }

  override agentStep(rewards: Float64Array, observations: Arrays, { slots, flags }: Steps): Chosen {
    this.counts.step += slots.length;
    const marks = [(row: number) => [flags[row]! & 3], this.#rewards(rewards)];
    return this.#act(this.#take(2, slots, observations, marks));
  }

  override agentEnd(rewards: Float64Array, observations: Arrays, { slots, kinds }: Ends): void {
    this.counts.end += slots.length;
    const marks = [(row: number) => [kinds[row]!], this.#rewards(rewards)];
    this.#take(1, slots, observations, marks);
  }

  override agentFreeze(): void {
    this.counts.freeze++;
    this.#takeByte(4);
  }

  override adaptBegin(): void {
    this.counts.adapt_begin++;
    this.#takeByte(5);
  }

  override adapt(): void {
    this.counts.adapt++;
    this.#takeByte(6);
  }

  override async agentMessage(message: string): Promise<string> {
    this.counts.message++;
    const [command, argument] = parted(message, " ");
    switch (command) {
      case "fail":
        this.#mustFail = argument === "turn";
        break;
      case "abandon":
        this.#abandon = [Number(argument)];
        break;
      case "budget":
        return budgetWords(this.budget);
      case "spec":
        return specWords(this.spec);
    }
    return answer(message, this.counts);
  }

  override agentCleanup(): void {
    this.counts.cleanup++;
  }

  override async turn(turn: Turn): Promise<Actions> {
    if (this.#mustFail) throw new Error(FAILURE);
    const answer = (await super.turn(turn)) as Chosen;
    const abandon = this.#abandon;
    this.#abandon = [];
    return new Actions(answer, abandon);
  }

  /** Each slot takes its row in: marks, then observations; their memories then. */
  #take(
    kind: number,
    slots: Uint32Array,
    observations: Arrays,
    marks: ((row: number) => Uint8Array | number[])[],
  ): number[] {
    const tensors = this.spec.observations.map(({ name }) => observations[name]!);
    return Array.from(slots, (slot, row) => {
      let memory = fold(this.#memories[slot]!, [kind, this.phase]);
      for (const mark of marks) memory = fold(memory, mark(row));
      for (const rows of tensors) memory = fold(memory, bytesOf(rows.row(row)));
      this.#memories[slot] = memory;
      return memory;
    });
  }

  #takeByte(byte: number): void {
    this.#memories = this.#memories.map((memory) => fold(memory, [byte]));
  }

  #act(memories: number[]): Chosen {
    return elements(memories, this.spec.actions);
  }

  /** None where they are withheld. */
  #rewards(rewards: Float64Array): (row: number) => Uint8Array | number[] {
    const isWithheld = this.phase === Phase.Evaluate && !this.spec.rewardsInEvaluation;
    return (row) => (isWithheld ? [] : bytesOf(at(rewards, row)));
  }
}

/** One element, a view. */
function at<E extends Float64Array | BigUint64Array>(array: E, row: number): E {
  return array.subarray(row, row + 1) as E;
}
