/** A routine's arguments, checked before any call is sent. All throw OutOfDomain. */
import { OutOfDomain } from "../errors.js";

export const MOST_UINT32 = 2n ** 32n - 1n;
export const MOST_UINT64 = 2n ** 64n - 1n;
export const MOST_SEED = 2n ** 63n - 1n;

/** An integer from `least` to `most`. */
export function checked(what: string, number: number | bigint, most: bigint, least = 0n): bigint {
  const isInteger = typeof number === "bigint" || Number.isSafeInteger(number);
  if (!isInteger || number < least || number > most) {
    throw new OutOfDomain(`${what} ${number}`, `an integer from ${least} to ${most}`);
  }
  return BigInt(number);
}

/** The number of a slot; the glue checks that there is one. */
export function checkedSlot(slot: number): number {
  return Number(checked("slot", slot, MOST_UINT32));
}

/** The numbers of slots. */
export function checkedSlots(slots: readonly number[]): number[] {
  return Array.from(slots, checkedSlot);
}
