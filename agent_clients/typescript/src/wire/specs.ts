/** TaskSpec from and to `spec.proto`. */
import type { MessageInitShape } from "@bufbuild/protobuf";

import { SpecError } from "../errors.js";
import * as pb from "../gen/reglue/v1/spec_pb.js";
import { checkedSpec, type Domain, DTYPES, type TaskSpec, TensorSpec } from "../spec.js";

/** Of one row of a tensor: at a byte each, what a hub's largest message holds. */
const MOST_ELEMENTS = 64 * 1024 * 1024;

const MOST_AXES = 63;

/** The spec of a message. Throws SpecError where it contradicts itself. */
export function decodeSpec(message: pb.TaskSpec): TaskSpec {
  return checkedSpec({
    observations: message.observations.map(decodeTensor),
    actions: message.actions.map(decodeTensor),
    rewardLow: message.rewardLow,
    rewardHigh: message.rewardHigh,
    discount: message.discount,
    horizon: message.horizon,
    continuing: message.continuing,
    rewardsInEvaluation: message.rewardsInEvaluation,
    slots: message.slots,
    extra: message.extra,
  });
}

/** The message of a spec. */
export function encodeSpec(spec: TaskSpec): MessageInitShape<typeof pb.TaskSpecSchema> {
  return {
    ...spec,
    observations: spec.observations.map(encodeTensor),
    actions: spec.actions.map(encodeTensor),
  };
}

function encodeTensor({ name, dtype, shape, domain }: TensorSpec) {
  return {
    name,
    dtype: DTYPES.indexOf(dtype) + 1,
    shape: [...shape],
    domain: encodeDomain(domain),
  };
}

function encodeDomain(domain: Domain): MessageInitShape<typeof pb.TensorSpecSchema>["domain"] & {} {
  switch (domain.kind) {
    case "box":
      return { case: "box", value: { low: [...domain.low], high: [...domain.high] } };
    case "discrete":
      return { case: "discrete", value: { n: domain.n, start: domain.start } };
    case "multiDiscrete":
      return { case: "multiDiscrete", value: { n: [...domain.n] } };
    case "multiBinary":
      return { case: "multiBinary", value: {} };
  }
}

function decodeTensor(message: pb.TensorSpec): TensorSpec {
  const { name, dtype: number, shape } = message;
  const dtype = DTYPES[number - 1];
  if (dtype === undefined) {
    throw new SpecError(`${name}: got dtype ${number}, wanted one of ${DTYPES.join(", ")}`);
  }
  const elements = shape.reduce((product, size) => product * (size || 1), 1);
  if (elements > MOST_ELEMENTS || shape.length > MOST_AXES) {
    const wanted = `at most ${MOST_AXES} axes and ${MOST_ELEMENTS} elements`;
    throw new SpecError(
      `${name}: got shape [${shape.slice(0, MOST_AXES).join()}], wanted ${wanted}`,
    );
  }
  return new TensorSpec(name, dtype, shape, decodeDomain(message));
}

function decodeDomain({ name, domain }: pb.TensorSpec): Domain {
  switch (domain.case) {
    case "box":
      return { kind: "box", low: domain.value.low, high: domain.value.high };
    case "discrete":
      return { kind: "discrete", n: domain.value.n, start: domain.value.start };
    case "multiDiscrete":
      return { kind: "multiDiscrete", n: domain.value.n };
    case "multiBinary":
      return { kind: "multiBinary" };
    default:
      throw new SpecError(`${name}: no domain that protocol 1.0 knows`);
  }
}
