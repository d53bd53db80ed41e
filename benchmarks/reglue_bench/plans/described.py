"""A plan as a benchmark's file."""

from __future__ import annotations

import re

import tomli_w

from reglue.errors import UsageError
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import SCORING, parameter_names


def described(plan: Plan) -> str:
    """The file: whoever plays that plays the same plan. Raises UsageError for what is no TOML."""
    table = {
        "name": plan.benchmark,
        "procedure": plan.procedure,
        "seed": plan.seed,
        **{
            name: plan.parameters[name]
            for name in ("split", *parameter_names(plan.procedure), *SCORING)
            if name in plan.parameters
        },
        "environment": plan.suite.factory,
        "arguments": plan.suite.config,
    }
    if plan.procedure == "multi-task":  # else it follows from the others
        table["slots"] = plan.slots
    try:
        text = tomli_w.dumps(table)
    except TypeError as error:  # null
        raise UsageError(f"{plan.benchmark} cannot be written as TOML: {error}") from error
    return _with_short_arrays(text)


def _with_short_arrays(text: str) -> str:
    """Arrays of numbers in a line each, such as goals. No string has a line's end in it."""
    return re.sub(
        r"\[\n([\s\d.,e+-]*)\]", lambda array: f"[{' '.join(array[1].split()).rstrip(',')}]", text
    )
