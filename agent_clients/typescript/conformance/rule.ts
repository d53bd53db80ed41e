/**
 * The rule of the conformance programs: bytes go in, elements of tensors come out.
 *
 * A memory is a number of 32 bits; all of it wraps around. `proto/CONFORMANCE.md` has the rule in
 * prose.
 */
import { type Elements, Rows, type TensorSpec } from "reglue";

/** A memory that has taken in nothing. */
export const START = 0x811c9dc5;

/** `memory` when it has taken in the bytes, one after another. */
export function fold(memory: number, bytes: Uint8Array | readonly number[]): number {
  for (let i = 0; i < bytes.length; i++) memory = (Math.imul(memory, 16777619) + bytes[i]!) | 0;
  return memory >>> 0;
}

/** Draw number `number` of a memory: MurmurHash3's finalizer over steps of the golden ratio. */
export function draw(memory: number, number: number): number {
  let z = (memory + Math.imul(number, 2654435769)) | 0;
  z ^= z >>> 16;
  z = Math.imul(z, 2246822507);
  z ^= z >>> 13;
  z = Math.imul(z, 3266489909);
  z ^= z >>> 16;
  return z >>> 0;
}

/** The bytes of any elements, as on the wire. */
export function bytesOf({ buffer, byteOffset, byteLength }: Elements): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** What each memory makes of `tensors`: name -> rows. */
export function elements(
  memories: readonly number[],
  tensors: readonly TensorSpec[],
): Record<string, Rows> {
  const made = Object.create(null) as Record<string, Rows>; // a tensor may have any name
  let first = 0;
  for (const tensor of tensors) {
    const data = array(tensor, memories.length * tensor.size);
    const value = maker(tensor);
    let place = 0;
    for (const memory of memories) {
      for (let j = 0; j < tensor.size; j++) {
        const number = 2 * (first + j);
        data[place++] = value(draw(memory, number), draw(memory, number + 1), j);
      }
    }
    made[tensor.name] = new Rows(data, memories.length, tensor.shape);
    first += tensor.size;
  }
  return made;
}

/** Makes element j of two draws; an integer may be too large: the array keeps its low bits. */
function maker(tensor: TensorSpec): (a: number, b: number, j: number) => number | bigint {
  const { domain } = tensor;
  const isWide = /64$/.test(tensor.dtype) && tensor.dtype !== "float64";
  const whole = isWide ? (value: bigint) => value : (value: bigint) => Number(value);
  const wide = (a: number, b: number) => (BigInt(b) << 32n) | BigInt(a);
  switch (domain.kind) {
    case "multiBinary":
      return (a) => whole(BigInt(a % 2));
    case "discrete":
      return (a, b) => whole(domain.start + (wide(a, b) % domain.n));
    case "multiDiscrete":
      return (a, b, j) => whole(wide(a, b) % domain.n[j]!);
    case "box":
      if (tensor.dtype === "bool") return (a) => a % 2;
      if (isWide) return wide;
      if (!tensor.dtype.startsWith("float")) return (a) => a;
      return floatMaker(tensor);
  }
}

function floatMaker(tensor: TensorSpec): (a: number, b: number, j: number) => number {
  const [low, high] = [tensor.low(), tensor.high()];
  if (low.every(Number.isFinite) && high.every(Number.isFinite)) {
    return (a, _, j) => low[j]! + (high[j]! - low[j]!) * ((a % 257) / 256);
  }
  return (a, b) => a - 2 ** 31 + (b % 2 ** 21) / 2 ** 21;
}

function array(tensor: TensorSpec, length: number): Elements & { [i: number]: number | bigint } {
  const types = {
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
  };
  return new types[tensor.dtype](length);
}
