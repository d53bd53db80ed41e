/** What episodes are for; numbered as on the wire. */
export enum Phase {
  Train = 1,
  Adapt = 2,
  Evaluate = 3,
}
