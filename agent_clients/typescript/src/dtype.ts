/** Types of elements, as spec.proto names them. */
import type { Elements } from "./rows.js";

/** Type of one element. */
export type Dtype = keyof typeof ARRAYS;

const ARRAYS = {
  bool: Uint8Array,
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  uint64: BigUint64Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  float32: Float32Array,
  float64: Float64Array,
} as const;

/** All of them, numbered from 1 on the wire. */
export const DTYPES = Object.keys(ARRAYS) as readonly Dtype[];

/** How a typed array of elements is made. */
export interface ElementsType {
  readonly BYTES_PER_ELEMENT: number;
  new (length: number): Elements;
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): Elements;
}

/** The typed array that holds elements of `dtype`. */
export function elementsType(dtype: Dtype): ElementsType {
  return ARRAYS[dtype];
}

/** Least and largest integer of a dtype; undefined for floats. */
export function wholeRange(dtype: Dtype): readonly [bigint, bigint] | undefined {
  if (dtype === "bool") return [0n, 1n];
  const bits = BigInt(8 * ARRAYS[dtype].BYTES_PER_ELEMENT);
  if (dtype.startsWith("uint")) return [0n, 2n ** bits - 1n];
  if (dtype.startsWith("int")) return [-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n];
  return undefined;
}
