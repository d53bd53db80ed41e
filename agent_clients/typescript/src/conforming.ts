/** What an agent answers, in its TaskSpec's names, sizes and dtypes. */
import { Actions, type Chosen, type Values } from "./calls.js";
import { BadAnswer } from "./errors.js";
import {
  type Dtype,
  type Elements,
  elementsType,
  Rows,
  type TaskSpec,
  type TensorSpec,
  wholeRange,
} from "./spec.js";

/** What one routine answered, for how many rows. */
export interface Part {
  readonly routine: string;
  readonly answer: Chosen;
  readonly rows: number;
}

/**
 * Elements of each action tensor, in the spec's order. They may be the author's own array.
 *
 * Throws BadAnswer for other names, for a wrong count of numbers, and for integers that do not fit
 * their dtype.
 */
export function conforming(spec: TaskSpec, { routine, answer, rows }: Part): Elements[] {
  const named = byName(spec, routine, answer, rows);
  return spec.actions.map((tensor) => {
    const what = `${routine}(): action ${tensor.name}`;
    return fitting(what, tensor, named[tensor.name] as Values, rows);
  });
}

/** One answer of several parts, in their order. Throws BadAnswer. */
export function stacked(spec: TaskSpec, parts: readonly Part[]): Chosen {
  const cast = parts.map((part) => conforming(spec, part)); // checked before allocating
  const named = spec.actions.map(({ name, dtype }, i) => {
    if (cast.length === 1) return [name, cast[0]![i]!];
    const pieces = cast.map((elements) => elements[i]!);
    const whole = new (elementsType(dtype))(pieces.reduce((sum, each) => sum + each.length, 0));
    let place = 0;
    for (const piece of pieces) {
      whole.set(piece as never, place);
      place += piece.length;
    }
    return [name, whole];
  });
  return Object.fromEntries(named);
}

/** Rows by name, with the spec's names and no other. */
function byName(
  spec: TaskSpec,
  routine: string,
  answer: Chosen,
  rows: number,
): { readonly [name: string]: Values } {
  const names = spec.actions.map((tensor) => tensor.name);
  const wanted = `actions by name: ${names.join(", ")}`;
  if (answer === undefined || answer === null) {
    throw new BadAnswer(`${routine}()`, String(answer), `${wanted}; does it return them?`);
  }
  if (answer instanceof Actions) {
    throw new BadAnswer(`${routine}()`, "Actions", `${wanted}; only turn() may give episodes up`);
  }
  if (rows === 0 && Object.keys(answer).length === 0) {
    return Object.fromEntries(names.map((name) => [name, []]));
  }
  const isNamed = typeof answer === "object" && !isArray(answer);
  if (!isNamed && names.length === 1) return { [names[0]!]: answer as Values };
  const given = Object.keys(answer);
  if (!isNamed || given.length !== names.length || !names.every((name) => given.includes(name))) {
    const got = isNamed ? given.join(", ") || "none" : "rows without a name";
    throw new BadAnswer(`${routine}()`, got, wanted);
  }
  return answer as { readonly [name: string]: Values };
}

function isArray(answer: object): boolean {
  return Array.isArray(answer) || ArrayBuffer.isView(answer) || answer instanceof Rows;
}

/** The numbers of `values` in the tensor's dtype. */
function fitting(what: string, tensor: TensorSpec, values: Values, rows: number): Elements {
  const given = flat(values);
  const wanted = rows * tensor.size;
  if (given.length !== wanted) {
    const rowsWanted = `${wanted}: ${rows} rows of ${tensor}`;
    throw new BadAnswer(what, `${given.length} numbers`, rowsWanted);
  }
  const [got, shape] = [shapeOf(values), [rows, ...tensor.shape]];
  if (got !== undefined && !isSameOrder(got, shape)) {
    throw new BadAnswer(what, `shape [${got}]`, `[${shape}]: one row a slot`);
  }
  const type = elementsType(tensor.dtype);
  if (given instanceof type && tensor.dtype !== "bool") return given as Elements;
  const cast = new type(wanted);
  const convert = converter(tensor.dtype);
  for (let i = 0; i < wanted; i++) {
    const number = convert(given[i]);
    if (number === undefined) throw misfit(what, tensor, given[i]);
    cast[i] = number;
  }
  return cast;
}

function misfit(what: string, tensor: TensorSpec, got: unknown): BadAnswer {
  const range = wholeRange(tensor.dtype);
  const wanted = range === undefined ? "a number" : `an integer of ${range.join(" to ")}`;
  return new BadAnswer(what, String(got), `${wanted} (${tensor.dtype})`);
}

/** Of rows and of nested arrays; undefined of numbers one after another. */
function shapeOf(values: Values): number[] | undefined {
  if (values instanceof Rows) return [values.length, ...values.shape];
  if (!Array.isArray(values) || typeof values[0] !== "object") return undefined;
  const first = values[0] as Values;
  const inner = shapeOf(first) ?? [(first as ArrayLike<unknown>).length];
  return [values.length, ...inner];
}

/** Whether shapes differ only by axes of length 1, which do not change the order of numbers. */
function isSameOrder(got: readonly number[], wanted: readonly number[]): boolean {
  const [one, other] = [got, wanted].map((shape) => shape.filter((size) => size !== 1));
  return one!.length === other!.length && one!.every((size, axis) => size === other![axis]);
}

/** The numbers in order, without their nesting. */
function flat(values: Values): ArrayLike<unknown> {
  if (values instanceof Rows) return values.data;
  if (ArrayBuffer.isView(values)) return values;
  if (!Array.isArray(values)) return [values];
  if (!values.some((value) => typeof value === "object")) return values;
  return values.flatMap((value) => Array.from(flat(value as Values)));
}

/** Turns a value into an element; undefined for one that does not fit: nothing wraps around. */
function converter(dtype: Dtype): (value: unknown) => number | bigint | undefined {
  const range = wholeRange(dtype);
  if (range === undefined) return (value) => (isNumber(value) ? Number(value) : undefined);
  const [least, most] = range;
  if (dtype.endsWith("64")) {
    return (value) => {
      if (!isNumber(value) || (typeof value === "number" && !Number.isInteger(value))) {
        return undefined;
      }
      const whole = BigInt(value);
      return whole < least || whole > most ? undefined : whole;
    };
  }
  const [low, high] = [Number(least), Number(most)];
  return (value) => {
    const whole = isNumber(value) ? Number(value) : NaN;
    return Number.isInteger(whole) && whole >= low && whole <= high ? whole : undefined;
  };
}

function isNumber(value: unknown): value is number | bigint | boolean {
  return typeof value === "number" || typeof value === "bigint" || typeof value === "boolean";
}
