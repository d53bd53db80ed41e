/** A TaskSpec and a Budget as words, as conformance programs say them. */
import type { Budget, Domain, TaskSpec } from "reglue";

/** A line for the task, then one for each observation and each action. */
export function specWords(spec: TaskSpec): string {
  const { rewardLow, rewardHigh, discount, horizon, continuing, rewardsInEvaluation } = spec;
  const flags = [Number(continuing), Number(rewardsInEvaluation)];
  const lines = [["task", rewardLow, rewardHigh, discount, horizon, ...flags, spec.slots]];
  for (const [kind, tensors] of [
    ["observation", spec.observations],
    ["action", spec.actions],
  ] as const) {
    for (const { name, dtype, shape, domain } of tensors) {
      lines.push([kind, name, dtype, list(shape), domainWords(domain)]);
    }
  }
  return lines.map((words) => words.join(" ")).join("\n");
}

/** What remains: `step_us bank_us adapt_us run_us`. */
export function budgetWords({ stepUs, bankUs, adaptUs, runUs }: Budget): string {
  return [stepUs, bankUs, adaptUs, runUs].map((us) => us ?? "-").join(" ");
}

function domainWords(domain: Domain): string {
  switch (domain.kind) {
    case "box":
      return `box ${list(domain.low)} ${list(domain.high)}`;
    case "discrete":
      return `discrete ${domain.n} ${domain.start}`;
    case "multiDiscrete":
      return `multi_discrete ${list(domain.n)}`;
    case "multiBinary":
      return "multi_binary";
  }
}

function list(numbers: readonly (number | bigint)[]): string {
  return numbers.map((number) => (Object.is(number, -0) ? "-0" : String(number))).join(",") || "-";
}
