/** A routine's arguments, checked before any call is sent. All throw OutOfDomain. */
import { OutOfDomain } from "../errors.js";
import { wholeWords } from "../spec.js";
import type { StartOptions } from "./options.js";

export const MAX_UINT32 = 2n ** 32n - 1n;
export const MAX_UINT64 = 2n ** 64n - 1n;
export const MAX_SEED = 2n ** 63n - 1n;

/** An integer from `min` to `max`. */
export function checkedInteger(
  what: string,
  number: number | bigint,
  max: bigint,
  min = 0n,
): bigint {
  const isInteger = typeof number === "bigint" || Number.isSafeInteger(number);
  if (!isInteger || number < min || number > max) {
    throw new OutOfDomain(`${what} ${String(number)}`, wholeWords(min, max));
  }
  return BigInt(number);
}

/** The number of a slot; the glue checks that there is one. */
export function checkedSlot(slot: number): number {
  return Number(checkedInteger("slot", slot, MAX_UINT32));
}

/** The numbers of slots, a copy. */
export function checkedSlots(slots: readonly number[]): number[] {
  if (!isList(slots)) throw new OutOfDomain(`slots ${String(slots)}`, "a list, such as [0]");
  return Array.from(slots, checkedSlot);
}

/** Rewards, a copy; the glue checks that there is one for each slot. */
export function checkedRewards(rewards: unknown): Float64Array {
  if (!isList(rewards)) {
    throw new OutOfDomain(`rewards ${String(rewards)}`, "a list of numbers, one for each slot");
  }
  return Float64Array.from(rewards, (reward) => {
    if (typeof reward === "number") return reward;
    throw new OutOfDomain(`reward ${String(reward)}`, "a number");
  });
}

/** A string. */
export function checkedText(what: string, text: string): string {
  if (typeof text !== "string") throw new OutOfDomain(`${what} ${String(text)}`, "a string");
  return text;
}

/** Options, by name. */
export function checkedObject<Options>(options: Options): Options {
  if (typeof options === "object" && options !== null && !isList(options)) return options;
  throw new OutOfDomain(`options ${String(options)}`, "an object of options by name");
}

/** The fields of a start: its slots, a copy, and its goal if it names one. */
export interface Start {
  slots: number[];
  goal?: { task: string; variant: number };
}

/** A start's options as the message has them. */
export function checkedStart(options: StartOptions): Start {
  const { slots = [], task, variant } = checkedObject(options);
  const start: Start = { slots: checkedSlots(slots) };
  if (task === undefined && variant === undefined) return start;
  start.goal = {
    task: checkedText("task", task === undefined ? "" : task),
    variant: Number(checkedInteger("variant", variant === undefined ? 0 : variant, MAX_UINT32)),
  };
  return start;
}

function isList(list: unknown): list is ArrayLike<unknown> {
  return Array.isArray(list) || ArrayBuffer.isView(list);
}
