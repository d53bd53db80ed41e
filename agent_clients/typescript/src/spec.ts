/** What there is to see and to do: TaskSpec, TensorSpec and their domains; rows of numbers. */
import { SpecError, UsageError } from "./errors.js";

/**
 * Which values a tensor takes.
 *
 * - `box`: each element from `low` to `high`, both inclusive, in the task's units. Either list
 *   holds no number (unbounded), one (for every element), or one for each element, row-major.
 * - `discrete`: the integers `start` to `start + n - 1`.
 * - `multiDiscrete`: element i takes 0 to `n[i] - 1`, row-major.
 * - `multiBinary`: every element is 0 or 1.
 */
export type Domain =
  | { readonly kind: "box"; readonly low: readonly number[]; readonly high: readonly number[] }
  | { readonly kind: "discrete"; readonly n: bigint; readonly start: bigint }
  | { readonly kind: "multiDiscrete"; readonly n: readonly bigint[] }
  | { readonly kind: "multiBinary" };

/**
 * A domain as an environment describes it: counts may be plain numbers, and a `start` that is omitted
 * is 0.
 */
export type DomainDescription =
  | Exclude<Domain, { readonly kind: "discrete" | "multiDiscrete" }>
  | {
      readonly kind: "discrete";
      readonly n: number | bigint;
      readonly start?: number | bigint | undefined;
    }
  | { readonly kind: "multiDiscrete"; readonly n: readonly (number | bigint)[] };

/** One named array: its dtype, the shape of a row, and the values it takes. */
export class TensorSpec {
  /** Elements in one row. */
  readonly size: number;
  /** Bytes of one row on the wire. */
  readonly rowBytes: number;
  /** The values that it takes. */
  readonly domain: Domain;

  /** Throws SpecError if they contradict one another. */
  constructor(
    readonly name: string,
    readonly dtype: Dtype,
    /** Of one row, without the axis of slots; empty for a scalar. */
    readonly shape: readonly number[] = [],
    /** By default a box without bounds. */
    domain: DomainDescription = { kind: "box", low: [], high: [] },
  ) {
    if (typeof name !== "string" || name === "") throw new SpecError("a tensor has no name");
    if (!DTYPES.includes(dtype)) {
      throw new SpecError(`${name}: got dtype ${dtype}, wanted one of ${DTYPES.join(", ")}`);
    }
    const sizes: unknown = shape;
    const isSize = (size: number) => Number.isSafeInteger(size) && size >= 0;
    if (!Array.isArray(sizes) || !sizes.every(isSize)) {
      throw new SpecError(
        `${name}: got shape ${String(shape)}, wanted a list of sizes, such as [3]`,
      );
    }
    this.size = shape.reduce((product, size) => product * size, 1);
    this.rowBytes = this.size * elementsType(dtype).BYTES_PER_ELEMENT;
    this.domain = domainOf(name, domain);
    checkDomain(this);
  }

  /** Lower bounds, one an element; -Infinity if it has none. */
  low(): Float64Array {
    return this.#bound(this.domain.kind === "box" ? this.domain.low : [], -Infinity);
  }

  /** Upper bounds, one an element; Infinity if it has none. */
  high(): Float64Array {
    return this.#bound(this.domain.kind === "box" ? this.domain.high : [], Infinity);
  }

  /** Dtype and shape of a row, in words. */
  toString(): string {
    return `${this.dtype}[${this.shape.join(", ")}]`;
  }

  #bound(values: readonly number[], missing: number): Float64Array {
    if (values.length === this.size) return Float64Array.from(values);
    return new Float64Array(this.size).fill(values[0] ?? missing);
  }
}

/** What every episode of a session promises; RL-Glue's task_specification. */
export interface TaskSpec {
  readonly observations: readonly TensorSpec[];
  readonly actions: readonly TensorSpec[];
  /** Of one step, task units; infinite if unknown. */
  readonly rewardLow: number;
  readonly rewardHigh: number;
  readonly discount: number;
  /** Steps to truncation; 0 means no limit. */
  readonly horizon: number;
  /** One episode that goes on forever. */
  readonly continuing: boolean;
  /** If not, rewards are NaN while the phase is Evaluate. */
  readonly rewardsInEvaluation: boolean;
  /** S, episodes played at once. */
  readonly slots: number;
  /** What else the environment says of the task. */
  readonly extra: string;
}

/** A task as an environment describes it: what is omitted has the default that is named here. */
export interface TaskDescription {
  readonly observations: readonly TensorSpec[];
  readonly actions: readonly TensorSpec[];
  /** -Infinity and Infinity: unknown. */
  readonly rewardLow?: number;
  readonly rewardHigh?: number;
  /** 1. */
  readonly discount?: number;
  /** 0: no limit. */
  readonly horizon?: number;
  /** False: episodes end. */
  readonly continuing?: boolean;
  /** True. */
  readonly rewardsInEvaluation?: boolean;
  /** The empty text. */
  readonly extra?: string;
}

/** The spec of a described task in that many slots. Throws SpecError. */
export function taskSpec(task: TaskDescription, slots: number): TaskSpec {
  for (const what of ["observations", "actions"] as const) {
    const tensors: unknown = task[what];
    if (!Array.isArray(tensors) || !tensors.every((each) => each instanceof TensorSpec)) {
      throw new SpecError(`got ${what} ${String(tensors)}, wanted a list of TensorSpec objects`);
    }
  }
  return checkedSpec({
    observations: task.observations,
    actions: task.actions,
    rewardLow: task.rewardLow ?? -Infinity,
    rewardHigh: task.rewardHigh ?? Infinity,
    discount: task.discount ?? 1,
    horizon: task.horizon ?? 0,
    continuing: task.continuing ?? false,
    rewardsInEvaluation: task.rewardsInEvaluation ?? true,
    slots,
    extra: task.extra ?? "",
  });
}

/** `spec`, if it does not contradict itself, else a SpecError. */
export function checkedSpec(spec: TaskSpec): TaskSpec {
  for (const [what, tensors] of Object.entries({
    observations: spec.observations,
    actions: spec.actions,
  })) {
    const names = tensors.map((tensor) => tensor.name);
    if (names.length === 0 || new Set(names).size !== names.length) {
      throw new SpecError(`${what} need distinct names, got ${names.join(", ") || "none"}`);
    }
  }
  if (!(spec.discount >= 0 && spec.discount <= 1)) {
    throw new SpecError(`got discount ${spec.discount}, wanted 0 to 1`);
  }
  if (spec.slots < 1) throw new SpecError(`got ${spec.slots} slots, wanted 1 or more`);
  return spec;
}

/** The domain, its integers as bigints. */
function domainOf(name: string, domain: DomainDescription): Domain {
  const kinds = ["box", "discrete", "multiDiscrete", "multiBinary"];
  const kind = (domain as Partial<Domain> | null)?.kind;
  if (!kinds.includes(kind ?? "")) {
    throw new SpecError(`${name}: got a domain of kind ${kind}, wanted ${kinds.join(", ")}`);
  }
  const integer = (what: string, number: number | bigint): bigint => {
    if (typeof number === "bigint" || Number.isSafeInteger(number)) return BigInt(number);
    throw new SpecError(`${name}: got ${what} ${String(number)}, wanted an integer`);
  };
  switch (domain.kind) {
    case "discrete":
      return {
        kind: "discrete",
        n: integer("n", domain.n),
        start: integer("start", domain.start ?? 0),
      };
    case "multiDiscrete":
      if (!Array.isArray(domain.n))
        throw new SpecError(`${name}: got n ${String(domain.n)}, wanted a list`);
      return { kind: "multiDiscrete", n: domain.n.map((n: number | bigint) => integer("n", n)) };
    default:
      return domain;
  }
}

function checkDomain(tensor: TensorSpec): void {
  const { name, domain, size } = tensor;
  const isWhole = /^u?int/.test(tensor.dtype);
  switch (domain.kind) {
    case "box":
      checkLength(name, "low", domain.low, [0, 1, size]);
      checkLength(name, "high", domain.high, [0, 1, size]);
      checkBounds(name, domain.low, domain.high);
      break;
    case "discrete":
      if (domain.n < 1n || !isWhole) {
        throw new SpecError(`${name}: discrete needs n ≥ 1 and an integer dtype`);
      }
      break;
    case "multiDiscrete":
      checkLength(name, "n", domain.n, [size]);
      if (domain.n.some((n) => n < 1n) || !isWhole) {
        throw new SpecError(`${name}: multi_discrete needs n ≥ 1 and an integer dtype`);
      }
      break;
    case "multiBinary":
      break;
  }
}

function checkLength(
  name: string,
  what: string,
  values: readonly unknown[],
  legal: readonly number[],
): void {
  if (!legal.includes(values?.length)) {
    const wanted = [...new Set(legal)].join(" or ");
    throw new SpecError(`${name}: ${what} has ${values?.length ?? "no"} entries, wanted ${wanted}`);
  }
}

/** Allocates nothing of the tensor's size. */
function checkBounds(name: string, low: readonly number[], high: readonly number[]): void {
  const isCrossed = (min: number, i: number) => min > (high.length === 1 ? high[0]! : high[i]!);
  const isAbove = (max: number) => low[0]! > max;
  const crossed = low.length === 1 ? high.some(isAbove) : high.length > 0 && low.some(isCrossed);
  if (crossed || low.some(Number.isNaN) || high.some(Number.isNaN)) {
    throw new SpecError(`${name}: a lower bound is not below its upper one`);
  }
}

/** Type of one element. */
export type Dtype =
  | "bool"
  | "uint8"
  | "uint16"
  | "uint32"
  | "uint64"
  | "int8"
  | "int16"
  | "int32"
  | "int64"
  | "float32"
  | "float64";

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
} as const satisfies Record<Dtype, unknown>;

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

/** Which integers are wanted, in words: a number beyond 2**53 - 1 may be a rounded one. */
export function wholeWords(least: bigint, most: bigint): string {
  const asBigint = most > BigInt(Number.MAX_SAFE_INTEGER) ? ", as a bigint beyond 2**53 - 1" : "";
  return `an integer from ${least} to ${most}${asBigint}`;
}

/** The same number; undefined for an integer that no number holds. */
export function exactNumber(value: number | bigint | boolean): number | undefined {
  const number = Number(value);
  if (typeof value !== "bigint") return number;
  return Number.isFinite(number) && BigInt(number) === value ? number : undefined;
}

/** Elements of a tensor, in its dtype; bool is a byte, 0 or 1. */
export type Elements =
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | BigUint64Array
  | Int8Array
  | Int16Array
  | Int32Array
  | BigInt64Array
  | Float32Array
  | Float64Array;

/** Named tensors; `observations.position` is one row a slot. */
export type Arrays = Readonly<Record<string, Rows>>;

/** `length` rows of a tensor, row-major in `data`: index `row * size + element`. */
export class Rows<E extends Elements = Elements> {
  /** Elements in one row. */
  readonly size: number;

  constructor(
    readonly data: E,
    readonly length: number,
    /** Of one row; empty for a scalar. */
    readonly shape: readonly number[],
  ) {
    this.size = shape.reduce((product, size) => product * size, 1);
  }

  /** One row's elements, a view. */
  row(row: number): E {
    return this.slice(row, row + 1).data;
  }

  /**
   * One row as numbers: a view of a float64 row, a copy of any other.
   *
   * Throws UsageError for an integer that no number holds: `row` has it as a bigint.
   */
  numbers(row: number): Float64Array {
    const elements: Elements = this.row(row);
    if (elements instanceof Float64Array) return elements;
    return Float64Array.from(elements, (element: number | bigint) => {
      const number = exactNumber(element);
      if (number !== undefined) return number;
      const wanted = "integers up to 2**53 - 1: row() has larger ones as bigint";
      throw new UsageError(`numbers(${row}): got ${element}, wanted ${wanted}`);
    });
  }

  /** Rows `start` up to `stop`, a view. */
  slice(start: number, stop: number): Rows<E> {
    const data = this.data.subarray(start * this.size, stop * this.size) as E;
    return new Rows(data, stop - start, this.shape);
  }
}
