/** Named tensors to and from bytes: little-endian, row-major, one row a slot. */
import { BadCall } from "../errors.js";
import { type Arrays, type Elements, elementsType, Rows, TensorSpec } from "../spec.js";

/** The rewards' entry. */
export const REWARDS = new TensorSpec("rewards", "float64", [], { kind: "box", low: [], high: [] });

/** Name -> rows, views of the entries where those are aligned. Throws BadCall. */
export function decodeArrays(
  tensors: readonly TensorSpec[],
  entries: readonly Uint8Array[],
  rows: number,
): Arrays {
  if (entries.length !== tensors.length) {
    throw new BadCall(`${entries.length} tensors`, `${tensors.length}`);
  }
  const arrays = Object.create(null) as Record<string, Rows>; // a tensor may have any name
  tensors.forEach((tensor, i) => {
    arrays[tensor.name] = new Rows(decodeElements(tensor, entries[i]!, rows), rows, tensor.shape);
  });
  return arrays;
}

/** The elements of `rows` rows. Throws BadCall, before anything is made. */
export function decodeElements(tensor: TensorSpec, entry: Uint8Array, rows: number): Elements {
  const wanted = rows * tensor.rowBytes;
  if (entry.length !== wanted) {
    const got = `${entry.length} bytes of ${tensor.name}`;
    throw new BadCall(got, `${wanted} bytes: ${rows} rows of ${String(tensor)}`);
  }
  const type = elementsType(tensor.dtype);
  const isAligned = entry.byteOffset % type.BYTES_PER_ELEMENT === 0;
  const { buffer, byteOffset } = isAligned ? entry : new Uint8Array(entry);
  return new type(buffer, byteOffset, rows * tensor.size);
}

/** Their bytes, a view. */
export function bytesOf(elements: Elements): Uint8Array {
  return new Uint8Array(elements.buffer, elements.byteOffset, elements.byteLength);
}
