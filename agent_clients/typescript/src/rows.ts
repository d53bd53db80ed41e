/** Rows of numbers, one a slot, over one typed array. */

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

  /** One row as numbers: a view of a float64 row, a copy of any other. */
  numbers(row: number): Float64Array {
    const elements: Elements = this.row(row);
    return elements instanceof Float64Array ? elements : Float64Array.from(elements, Number);
  }

  /** Rows `start` up to `stop`, a view. */
  slice(start: number, stop: number): Rows<E> {
    const data = this.data.subarray(start * this.size, stop * this.size) as E;
    return new Rows(data, stop - start, this.shape);
  }
}
