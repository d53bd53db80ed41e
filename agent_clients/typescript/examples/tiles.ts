/**
 * Binary features: which of a set of tiles an observation lies on.
 *
 * Tile coding as in Sutton & Barto 2018, "Reinforcement Learning: An Introduction", 2nd edition,
 * section 9.5.4, pages 217 to 221. Tiles are counted exactly, not hashed: whoever learns keeps
 * weights of those that it has met.
 */

/** Grids of `tiles` to a side, each moved a little against the others. */
export class Tilings {
  readonly #sides: { low: number; scale: number; moves: number[] }[];

  /** `low` and `high` are the bounds of each number, all finite. */
  constructor(
    low: Float64Array,
    high: Float64Array,
    /** How many features are 1 at a time. */
    readonly tilings: number,
    readonly tiles: number,
  ) {
    const all = Array.from({ length: tilings }, (_, tiling) => tiling);
    this.#sides = Array.from(low, (min, d) => ({
      low: min,
      scale: tiles / (high[d]! - min), // tiles a unit
      // In direction d tiling t is moved by t/tilings times 1, 3, 5, …: odd numbers keep the
      // tilings from lying along a diagonal (page 220, after Miller and Glanz 1996).
      moves: all.map((tiling) => ((tiling * (2 * d + 1)) % tilings) / tilings),
    }));
  }

  /** One tile of each tiling; what lies out of bounds counts as on them. */
  active(numbers: Float64Array): number[] {
    const cells = this.tiles + 1; // to a side: a grid that is moved needs one more
    let active = Array.from({ length: this.tilings }, (_, tiling) => tiling);
    this.#sides.forEach(({ low, scale, moves }, d) => {
      const place = Math.min(Math.max((numbers[d]! - low) * scale, 0), this.tiles);
      active = active.map((tile, t) => tile * cells + Math.trunc(place + moves[t]!));
    });
    return active;
  }
}
