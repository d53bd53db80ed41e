import assert from "node:assert/strict";
import { test } from "node:test";

import { Rng, philox, type Block } from "../src/rng.js";
import { UsageError } from "../src/errors.js";
import { file, hex, unhex } from "./pages.js";

interface Place {
  readonly seed: string;
  readonly episode: string;
  readonly drawn: string;
}

interface Vectors {
  readonly blocks: { counter: string[]; key: string[]; block: string[] }[];
  readonly words: (Place & { words: string[] })[];
  readonly uniforms: (Place & { low_bits: string; high_bits: string; float64: string[] })[];
  readonly below: (Place & { n: string; numbers: string[]; drawn_after: string })[];
  readonly positions: (Place & { bytes: string })[];
}

const VECTORS = JSON.parse(file("tests/reglue/rng_vectors.json")) as Vectors;

test("blocks of Philox are the published ones", () => {
  for (const { counter, key, block } of VECTORS.blocks) {
    const made = philox(counter.map(whole) as unknown as Block, [whole(key[0]!), whole(key[1]!)]);
    assert.deepEqual(made, block.map(whole));
  }
});

test("words are the vectors'", () => {
  for (const vector of VECTORS.words) {
    const rng = rngOf(vector);
    const wanted = vector.words.map(whole);
    assert.deepEqual(
      wanted.map(() => rng.word()),
      wanted,
    );
  }
});

test("uniform numbers are the vectors', to the bit", () => {
  for (const vector of VECTORS.uniforms) {
    const rng = rngOf(vector);
    for (const wanted of vector.float64) {
      const got = Buffer.alloc(8);
      got.writeDoubleLE(rng.uniform(real(vector.low_bits), real(vector.high_bits)));
      assert.equal(got.toString("hex"), wanted);
    }
  }
});

test("integers are the vectors', and take as many words", () => {
  for (const vector of VECTORS.below) {
    const rng = rngOf(vector);
    const wanted = vector.numbers.map(whole);
    assert.deepEqual(
      wanted.map(() => rng.wideBelow(whole(vector.n))),
      wanted,
    );
    assert.deepEqual(rng.toBytes(), rngOf({ ...vector, drawn: vector.drawn_after }).toBytes());
  }
});

test("the bytes of a state are the vectors', and the rng continues from them", () => {
  for (const vector of VECTORS.positions) {
    const rng = rngOf(vector);
    assert.equal(hex(rng.toBytes()), vector.bytes);
    assert.equal(Rng.fromBytes(unhex(vector.bytes)).word(), rng.word());
  }
  assert.throws(() => Rng.fromBytes(new Uint8Array(23)), /got 23 bytes, wanted a Uint8Array of 24/);
  assert.throws(() => Rng.fromBytes(null as never), /got null, wanted a Uint8Array of 24 bytes/);
});

test("numbers that are not 64-bit words are refused", () => {
  assert.throws(() => new Rng(-1n), UsageError);
  assert.throws(() => new Rng(0n, 2n ** 64n), /got episode 18446744073709551616/);
  assert.throws(() => new Rng(0n).below(0), UsageError);
  assert.throws(() => new Rng(0n).below(0.5), UsageError);
  assert.throws(() => new Rng(0n).wideBelow(2n ** 64n + 1n), UsageError);
  assert.throws(() => new Rng(0n).wideBelow(6 as never), /got n 6, wanted a bigint from 1n to/);
  for (const seed of [7, null, undefined]) {
    const words = new RegExp(`^UsageError: got seed ${String(seed)}, wanted a bigint from 0n to`);
    assert.throws(() => new Rng(seed as never), words);
  }
});

function rngOf({ seed, episode, drawn }: Place): Rng {
  return new Rng(whole(seed), whole(episode), whole(drawn));
}

function whole(digits: string): bigint {
  return BigInt(`0x${digits}`);
}

function real(digits: string): number {
  return Buffer.from(digits, "hex").readDoubleLE();
}
