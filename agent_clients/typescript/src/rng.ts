/**
 * Random numbers that are the same on every platform: Philox 4×64 words, numbered.
 *
 * - Word d of an episode is word `d mod 4` of the block of Philox 4×64 with 10 rounds (Salmon et
 *   al. 2011, "Parallel random numbers: as easy as 1, 2, 3") whose key is `(seed, 0)` and whose
 *   counter is `(d div 4, episode, 0, 0)`, least word first.
 * - A uniform number takes one word w: `u = (w >> 11) × 2⁻⁵³`, in [0, 1), then
 *   `low + (high - low) × u` in float64.
 * - An integer below n takes words w until `w × n mod 2⁶⁴ ≥ 2⁶⁴ mod n`, and is then
 *   `w × n div 2⁶⁴` (Lemire 2019, "Fast random integer generation in an interval").
 */
import { UsageError } from "./errors.js";

const WORDS = 2n ** 64n;
const MASK = WORDS - 1n;
const POSITION_BYTES = 24;

/** Four words of 64 bits. */
export type Block = readonly [bigint, bigint, bigint, bigint];

/** The sequence of random numbers of one episode. */
export class Rng {
  readonly #seed: bigint;
  readonly #episode: bigint;
  #drawn: bigint;
  #block: Block | undefined; // of the next word

  /** The first `drawn` words are skipped. All are 0 to 2⁶⁴ - 1, else UsageError. */
  constructor(seed: bigint, episode = 0n, drawn = 0n) {
    for (const [what, number] of Object.entries({ seed, episode, drawn })) {
      if (typeof number !== "bigint" || number < 0n || number >= WORDS) {
        throw new UsageError(
          `got ${what} ${literal(number)}, wanted a bigint from 0n to 2n**64n - 1n`,
        );
      }
    }
    [this.#seed, this.#episode, this.#drawn] = [seed, episode, drawn];
  }

  /** 64 random bits. */
  word(): bigint {
    const place = Number(this.#drawn % 4n);
    if (place === 0 || this.#block === undefined) {
      this.#block = philox([this.#drawn / 4n, this.#episode, 0n, 0n], [this.#seed, 0n]);
    }
    this.#drawn++;
    return this.#block[place]!;
  }

  /** A number from `low` to `high`; `high` itself only by rounding. */
  uniform(low = 0, high = 1): number {
    return low + (high - low) * (Number(this.word() >> 11n) * 2 ** -53);
  }

  /** A uniform integer from 0 to n - 1; n is 1 to 2⁵³, else UsageError. */
  below(n: number): number {
    if (!Number.isSafeInteger(n))
      throw new UsageError(`got n ${literal(n)}, wanted 1 to 2**53 - 1`);
    return Number(this.wideBelow(BigInt(n)));
  }

  /** A uniform integer from 0 to n - 1; n is 1 to 2⁶⁴, else UsageError. */
  wideBelow(n: bigint): bigint {
    if (typeof n !== "bigint" || n < 1n || n > WORDS) {
      throw new UsageError(`got n ${literal(n)}, wanted a bigint from 1n to 2n**64n`);
    }
    const rejected = WORDS % n;
    for (;;) {
      const product = this.word() * n;
      if ((product & MASK) >= rejected) return product / WORDS;
    }
  }

  /** The state: seed, episode and words drawn, 24 bytes. */
  toBytes(): Uint8Array {
    const numbers = [this.#seed, this.#episode, this.#drawn];
    const bytes = Buffer.alloc(POSITION_BYTES);
    numbers.forEach((number, i) => bytes.writeBigUInt64LE(number, 8 * i));
    return new Uint8Array(bytes);
  }

  /** The generator with that state. Throws UsageError for other bytes. */
  static fromBytes(position: Uint8Array): Rng {
    if (!(position instanceof Uint8Array) || position.length !== POSITION_BYTES) {
      const got = position instanceof Uint8Array ? `${position.length} bytes` : String(position);
      throw new UsageError(`got ${got}, wanted a Uint8Array of ${POSITION_BYTES} bytes of an Rng`);
    }
    const bytes = Buffer.from(position);
    return new Rng(bytes.readBigUInt64LE(), bytes.readBigUInt64LE(8), bytes.readBigUInt64LE(16));
  }
}

/** As it is written in code. */
function literal(number: unknown): string {
  return `${String(number)}${typeof number === "bigint" ? "n" : ""}`;
}

/** One block of Philox 4×64 with 10 rounds (Salmon et al. 2011, section 3.3). */
export function philox(counter: Block, key: readonly [bigint, bigint]): Block {
  let [a, b, c, d] = counter;
  let [k, l] = key;
  for (let round = 0; round < 10; round++) {
    const first = 0xd2e7470ee14c6c93n * a;
    const second = 0xca5a826395121157n * c;
    [a, b] = [(second >> 64n) ^ b ^ k, second & MASK];
    [c, d] = [(first >> 64n) ^ d ^ l, first & MASK];
    k = (k + 0x9e3779b97f4a7c15n) & MASK;
    l = (l + 0xbb67ae8584caa73bn) & MASK;
  }
  return [a, b, c, d];
}
