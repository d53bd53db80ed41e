/** Tasks that tests play. */
import { create } from "@bufbuild/protobuf";

import { Dtype, type TaskSpec as Message, TaskSpecSchema } from "../src/gen/reglue/v1/spec_pb.js";
import type { TaskSpec } from "../src/spec.js";
import { decodeSpec } from "../src/wire/specs.js";

/** The task of proto/README.md, "A turn, byte by byte". */
export function readmeMessage(): Message {
  return create(TaskSpecSchema, {
    observations: [
      { name: "position", dtype: Dtype.FLOAT64, shape: [2], domain: { case: "box", value: {} } },
      { name: "door_open", dtype: Dtype.BOOL, domain: { case: "multiBinary", value: {} } },
    ],
    actions: [
      {
        name: "force",
        dtype: Dtype.FLOAT32,
        shape: [2],
        domain: { case: "box", value: { low: [-1], high: [1] } },
      },
      {
        name: "grip",
        dtype: Dtype.INT16,
        domain: { case: "discrete", value: { n: 3n, start: -1n } },
      },
    ],
    rewardLow: -Infinity,
    rewardHigh: Infinity,
    discount: 1,
    horizon: 100,
    rewardsInEvaluation: true,
    slots: 4,
  });
}

/** The same, as agents see it. */
export function readmeSpec(): TaskSpec {
  return decodeSpec(readmeMessage());
}
