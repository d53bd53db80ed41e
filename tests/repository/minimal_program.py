"""The program of the conformance kit, played by the client of docs/how-to/minimal-client.md."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from reglue.conformance import ConformanceAgent
from reglue.messages.agent_messages import (
    Actions,
    Budget,
    EndKind,
    Ends,
    Phase,
    Starts,
    Steps,
    Turn,
)
from reglue.wire.spec_encoding import decode_spec


class Program:
    """The program of the page's client, which sets `spec`, `phase` and `budget` itself."""

    spec: Any
    phase: str
    budget: Any
    abandoned: tuple[int, ...] = ()

    def __init__(self) -> None:
        self.rule = ConformanceAgent()
        self.freeze, self.cleanup = self.rule.agent_freeze, self.rule.agent_cleanup
        self.adapt_begin, self.adapt = self.rule.adapt_begin, self.rule.adapt

    def init(self, spec: Any) -> None:
        self.spec, self.rule.spec = spec, decode_spec(spec)
        self.rule.agent_init(self.rule.spec)

    def message(self, text: str) -> str:
        limits = {field.name: value for field, value in self.budget.ListFields()}
        self.rule.budget = Budget(**limits)
        return self.rule.agent_message(text)

    def turn(self, ends: Any, steps: Any, starts: Any) -> Any:
        self.rule.phase = Phase[self.phase.removeprefix("PHASE_")]
        kinds = [EndKind[kind.removeprefix("END_KIND_")] for kind in ends.marks]
        parts = [each.observations for each in (ends, steps, starts)]
        turn = Turn(
            self.rule.phase,
            Ends(np.array(ends.slots, np.uint32), np.array(kinds, np.uint8)),
            Steps(np.array(steps.slots, np.uint32), np.array(steps.marks, np.uint8)),
            Starts(np.array(starts.slots, np.uint32), np.array(starts.marks, np.uint64)),
            np.concatenate([ends.rewards, steps.rewards]),
            {name: np.concatenate([part[name] for part in parts]) for name in parts[0]},
        )
        answer: Any = self.rule.turn(turn)
        self.abandoned = ()
        if isinstance(answer, Actions):
            answer, self.abandoned = answer.arrays, answer.abandon
        return answer or {tensor.name: [] for tensor in self.spec.actions}


if __name__ == "__main__":
    importlib.import_module("minimal").run(Program())
