/** What routines answer, in the names, sizes and dtypes of their TaskSpec. */
import {
  type Dtype,
  type Elements,
  elementsType,
  exactNumber,
  Rows,
  type TensorSpec,
  wholeRange,
  wholeWords,
} from "./spec.js";

/** A routine may return what it returns at once, or a promise of it. */
export type Awaitable<T> = T | PromiseLike<T>;

/** A number, or numbers, or rows of numbers. */
export type Values =
  number | bigint | boolean | Rows | Elements | Uint8ClampedArray | readonly Values[];

/** What an author returns: rows of the only tensor, or an object of such rows by name. */
export type Answer = Values | { readonly [name: string]: Values };

/** What one routine answered, for how many rows. */
export interface Part {
  readonly routine: string;
  readonly answer: Answer;
  readonly rows: number;
}

/** What the rows are called, and the error of rows that do not fit. */
export interface Kind {
  readonly noun: "action" | "observation";
  /** The question to ask where there is no answer at all. */
  readonly hint: string;
  readonly misfit: (what: string, got: string, wanted: string) => Error;
}

/** A copy, so that what its owner writes later changes nothing. */
export function copied(answer: Answer): Answer {
  if (answer instanceof Rows) return new Rows(answer.data.slice(), answer.length, answer.shape);
  if (ArrayBuffer.isView(answer)) return answer.slice();
  if (Array.isArray(answer)) return answer.map(copied) as Values[];
  if (typeof answer !== "object" || answer === null) return answer;
  const named = Object.entries(answer).map(([name, values]) => [name, copied(values)]);
  return Object.fromEntries(named) as Answer;
}

/**
 * Elements of each tensor, in their order. They may be the author's array.
 *
 * Throws the kind's error for other names, for a wrong count of numbers, and for integers that do
 * not fit their dtype.
 */
export function conforming(
  tensors: readonly TensorSpec[],
  { routine, answer, rows }: Part,
  kind: Kind,
): Elements[] {
  const named = byName(tensors, { routine, answer, rows }, kind);
  return tensors.map((tensor) => {
    const what = `${routine}(): ${kind.noun} ${tensor.name}`;
    return fitting(what, tensor, named[tensor.name] as Values, rows, kind);
  });
}

/** The elements of several parts, one after another. Throws as `conforming`. */
export function stacked(
  tensors: readonly TensorSpec[],
  parts: readonly Part[],
  kind: Kind,
): Elements[] {
  const cast = parts.map((part) => conforming(tensors, part, kind)); // checked before allocating
  return tensors.map(({ dtype }, i) => {
    if (cast.length === 1) return cast[0]![i]!;
    const pieces = cast.map((elements) => elements[i]!);
    const whole = new (elementsType(dtype))(pieces.reduce((sum, each) => sum + each.length, 0));
    let place = 0;
    for (const piece of pieces) {
      whole.set(piece as never, place);
      place += piece.length;
    }
    return whole;
  });
}

/** Rows by name, with the tensors' names and no other. */
function byName(
  tensors: readonly TensorSpec[],
  { routine, answer, rows }: Part,
  { noun, hint, misfit }: Kind,
): { readonly [name: string]: Values } {
  const names = tensors.map((tensor) => tensor.name);
  const wanted = `${noun}s by name: ${names.join(", ")}`;
  if (answer === undefined || answer === null) {
    throw misfit(`${routine}()`, String(answer), `${wanted}; ${hint}`);
  }
  if (rows === 0 && Object.keys(answer).length === 0) {
    return Object.fromEntries(names.map((name) => [name, []]));
  }
  const isNamed = typeof answer === "object" && !isArray(answer);
  if (!isNamed && names.length === 1) return { [names[0]!]: answer as Values };
  const gotNames = Object.keys(answer);
  if (
    !isNamed ||
    gotNames.length !== names.length ||
    !names.every((name) => gotNames.includes(name))
  ) {
    const got = isNamed ? gotNames.join(", ") || "none" : "rows without a name";
    throw misfit(`${routine}()`, got, wanted);
  }
  return answer as { readonly [name: string]: Values };
}

function isArray(answer: object): boolean {
  return Array.isArray(answer) || ArrayBuffer.isView(answer) || answer instanceof Rows;
}

/** The numbers of `values` in the tensor's dtype. */
function fitting(
  what: string,
  tensor: TensorSpec,
  values: Values,
  rows: number,
  { misfit }: Kind,
): Elements {
  const numbers = flat(values);
  const wanted = rows * tensor.size;
  if (numbers.length !== wanted) {
    const rowsWanted = `${wanted}: ${rows} rows of ${String(tensor)}`;
    throw misfit(what, `${numbers.length} numbers`, rowsWanted);
  }
  const [got, shape] = [shapeOf(values), [rows, ...tensor.shape]];
  const hasRows = values instanceof Rows || got?.length !== 1; // else numbers one after another
  if (got === undefined || (hasRows && !isSameOrder(got, shape))) {
    const shapes = got === undefined ? "rows of different lengths" : `shape [${got.join()}]`;
    throw misfit(what, shapes, `[${shape.join()}]: one row a slot`);
  }
  const type = elementsType(tensor.dtype);
  if (numbers instanceof type && tensor.dtype !== "bool") return numbers;
  const cast = new type(wanted);
  const convert = converter(tensor.dtype);
  for (let i = 0; i < wanted; i++) {
    const number = convert(numbers[i]);
    if (number === undefined) throw misfit(what, String(numbers[i]), numberOf(tensor));
    cast[i] = number;
  }
  return cast;
}

/** Which numbers the tensor takes, in words. */
function numberOf({ dtype }: TensorSpec): string {
  const range = wholeRange(dtype);
  if (range === undefined) return `a number (${dtype}), a bigint only if that holds it exactly`;
  return `${wholeWords(...range)} (${dtype})`;
}

/** Of numbers one after another it has one axis; undefined of rows that differ in theirs. */
function shapeOf(values: Values): readonly number[] | undefined {
  if (values instanceof Rows) return [values.length, ...values.shape];
  if (ArrayBuffer.isView(values)) return [values.length];
  if (!Array.isArray(values)) return [];
  const each = values as readonly Values[];
  if (!each.some((value) => typeof value === "object")) return [each.length];
  const shapes = each.map(shapeOf);
  const [first] = shapes;
  const isEven = shapes.every((shape) => shape && first && isSameOrder(shape, first));
  return first && isEven ? [each.length, ...first] : undefined;
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
  const each = values as readonly Values[];
  if (!each.some((value) => typeof value === "object")) return each;
  return each.flatMap((value) => Array.from(flat(value)));
}

/**
 * Turns a value into an element; undefined for one that does not fit: nothing wraps around, and no
 * integer is rounded before it is here.
 */
function converter(dtype: Dtype): (value: unknown) => number | bigint | undefined {
  const range = wholeRange(dtype);
  if (range === undefined) return (value) => (isNumber(value) ? exactNumber(value) : undefined);
  const [least, most] = range;
  if (dtype.endsWith("64")) {
    return (value) => {
      if (!isNumber(value) || (typeof value === "number" && !Number.isSafeInteger(value))) {
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
