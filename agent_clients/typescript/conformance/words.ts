/** Reports and instructions of conformance programs, as text. */
import {
  type Arrays,
  type Budget,
  type Domain,
  type Dtype,
  type Started,
  type Stepped,
  type TaskDescription,
  type TaskSpec,
  TensorSpec,
  type Trajectory,
} from "reglue";

import { bytesOf, fold, START } from "./rule.js";

/** Slots, observations, and actions if the agent acts. */
export function startedWords(spec: TaskSpec, started: Started, acts: boolean): string {
  const words = [slotsWord(started.slots), rowsWord(spec.observations, started.observations)];
  if (acts) words.push(rowsWord(spec.actions, started.actions));
  return words.join(" ");
}

/** Slots, rewards, observations, flags, and actions if the agent acts. */
export function steppedWords(spec: TaskSpec, stepped: Stepped, acts: boolean): string {
  const { terminated, truncated, success } = stepped;
  const flags = terminated.map((is, row) => flagsOf(is, truncated[row]!, success[row]!));
  const words = [
    slotsWord(stepped.slots),
    word(bytesOf(stepped.rewards)),
    rowsWord(spec.observations, stepped.observations),
    word(flags),
  ];
  if (acts) words.push(rowsWord(spec.actions, stepped.actions));
  return words.join(" ");
}

/** Observations, actions, rewards, and how it ended in a byte. */
export function trajectoryWords(spec: TaskSpec, trajectory: Trajectory): string {
  return [
    rowsWord(spec.observations, trajectory.observations),
    rowsWord(spec.actions, trajectory.actions),
    word(bytesOf(trajectory.rewards)),
    word([flagsOf(trajectory.terminated, trajectory.truncated, false)]),
  ].join(" ");
}

/** Each tensor with all of its rows, one tensor after another. */
export function rowsWord(tensors: readonly TensorSpec[], arrays: Arrays): string {
  return word(...tensors.map(({ name }) => bytesOf(arrays[name]!.data)));
}

function slotsWord(slots: Uint32Array): string {
  return word(bytesOf(slots));
}

function flagsOf(terminated: boolean, truncated: boolean, success: boolean): number {
  return 1 * Number(terminated) + 2 * Number(truncated) + 4 * Number(success);
}

/** A memory that has taken in the blocks, eight hex digits. */
function word(...blocks: (Uint8Array | readonly number[])[]): string {
  return blocks.reduce(fold, START).toString(16).padStart(8, "0");
}

/** The text before the first `mark`, and what follows it. */
export function parted(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + mark.length)];
}

/** A line for the task, then one for each observation and each action. */
export function specWords(spec: TaskSpec): string {
  const { rewardLow, rewardHigh, discount, horizon, continuing, rewardsInEvaluation } = spec;
  const flags = [Number(continuing), Number(rewardsInEvaluation)];
  const lines = [["task", rewardLow, rewardHigh, discount, horizon, ...flags, spec.slots]];
  for (const [kind, tensors] of [
    ["observation", spec.observations],
    ["action", spec.actions],
  ] as const) {
    for (const { name, dtype, shape, domain } of tensors) {
      lines.push([kind, name, dtype, list(shape), domainWords(domain)]);
    }
  }
  return lines.map((words) => words.join(" ")).join("\n");
}

/** What remains: `step_us bank_us adapt_us run_us`. */
export function budgetWords({ stepUs, bankUs, adaptUs, runUs }: Budget): string {
  return [stepUs, bankUs, adaptUs, runUs].map((us) => us ?? "-").join(" ");
}

function domainWords(domain: Domain): string {
  switch (domain.kind) {
    case "box":
      return `box ${list(domain.low)} ${list(domain.high)}`;
    case "discrete":
      return `discrete ${domain.n} ${domain.start}`;
    case "multiDiscrete":
      return `multi_discrete ${list(domain.n)}`;
    case "multiBinary":
      return "multi_binary";
  }
}

function list(numbers: readonly (number | bigint)[]): string {
  return numbers.map((number) => (Object.is(number, -0) ? "-0" : String(number))).join(",") || "-";
}

/** The task of such lines. */
export function taskOfWords(text: string): TaskDescription {
  const [[, ...task], ...tensors] = text.split("\n").map((line) => line.split(" ")) as [
    string[],
    ...string[][],
  ];
  const [rewardLow, rewardHigh, discount, horizon, continuing, rewardsInEvaluation] = task.map(
    Number,
  ) as [number, number, number, number, number, number];
  const of = (kind: string) => tensors.filter(([word]) => word === kind).map(tensorOfWords);
  return {
    observations: of("observation"),
    actions: of("action"),
    rewardLow,
    rewardHigh,
    discount,
    horizon,
    continuing: continuing === 1,
    rewardsInEvaluation: rewardsInEvaluation === 1,
  };
}

function tensorOfWords([, name, dtype, shape, ...domain]: string[]): TensorSpec {
  return new TensorSpec(name!, dtype as Dtype, numbers(shape!), domainOfWords(domain));
}

function domainOfWords([kind, first, second]: string[]): Domain {
  switch (kind) {
    case "box":
      return { kind, low: numbers(first!), high: numbers(second!) };
    case "discrete":
      return { kind, n: BigInt(first!), start: BigInt(second!) };
    case "multi_discrete":
      return { kind: "multiDiscrete", n: first === "-" ? [] : first!.split(",").map(BigInt) };
    default:
      return { kind: "multiBinary" };
  }
}

function numbers(list: string): number[] {
  return list === "-" ? [] : list.split(",").map(Number);
}
