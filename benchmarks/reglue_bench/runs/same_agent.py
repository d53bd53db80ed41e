"""Checks that an agent object is the one that began a run, so that a score is of one agent.

Its name and its parameters are compared. Where these are not all, a frozen agent answers the first
turns of the run again. An agent that neither identifies has the name that its user gives.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from glue_server import LocalPort
from glue_server.agent.repetition import RecordedTurns, answer_recorded
from reglue.agents.adaptation import agent_of
from reglue.errors import AgentFault, BadReply, PlanDiffers, RunDamaged, SpecError, setting
from reglue.messages.agent_messages import Numbered, Turn
from reglue.spec import TaskSpec
from reglue.tools.loading import agent_name
from reglue.wire.agent_encoding import call_from_bytes, encode_call
from reglue.wire.spec_encoding import spec_from_bytes, spec_to_bytes
from reglue_bench.engines.agent_parameters import Parameters, parameters_of
from reglue_bench.run_folder import FIRST_TURNS
from reglue_bench.runs.ledger import AGENT_NAME, PARAMETERS, Ledger


def check_same_object(ledger: Ledger, agent: object, label: str | None) -> None:
    """Raise PlanDiffers unless `agent` began the run.

    Where nothing was played it may be one that nothing identifies. `label` is the user's name for
    it; the caller has compared it. Raises RunDamaged if the run's first turns cannot be read.
    """
    about, name = ledger.about, agent_name(agent)
    way_out = (
        f"resume it with the agent that began it, or begin another run, in another {setting('out')}"
    )
    if about.get(AGENT_NAME, name) != name:
        raise PlanDiffers(f"this run is {about[AGENT_NAME]}'s, got {name}; {way_out}")
    before, now = _kept(ledger), parameters_of(agent)
    if before and (names := before.differences(now)):
        raise PlanDiffers(
            f"this run was begun by another {name}, of other {', '.join(names)}; {way_out}"
        )
    if (before and before.without_changed(now).is_whole) or next(ledger.rows(), None) is None:
        return
    recorded = _read(ledger.folder)
    why = "what it learned or keeps cannot be compared" if before else "an earlier version began it"
    if recorded is not None:
        difference, answers_alike = _answers(agent, name, recorded)
        if not difference:
            return
        if answers_alike:
            raise PlanDiffers(f"this run was begun by another {name}: {difference}; {way_out}")
        why = f"asked twice it answers otherwise: {difference}"
    if label is None:
        raise PlanDiffers(
            f"nothing tells whether this {name} began the run: {why}; begin a run of such an agent "
            f"with a {setting('label')} of your own, and resume it with the same"
        )


def keep_parameters(ledger: Ledger, agent: object) -> None:
    """After play: what has changed meanwhile does not identify the agent."""
    before = _kept(ledger)
    if before is not None and (left := before.without_changed(parameters_of(agent))) != before:
        ledger.renote(PARAMETERS, left.to_json())


def keep_turns(ledger: Ledger, recorded: RecordedTurns | None) -> None:
    """Keep the agent's first turns, unless its parameters identify it, or there are some."""
    before, file = _kept(ledger), ledger.folder / FIRST_TURNS
    if before is None or before.is_whole or not (recorded and recorded.turns) or file.exists():
        return
    spec = recorded.spec
    turns = [
        (encode_call(Numbered(0, turn), spec).SerializeToString().hex(), actions.hex())
        for turn, actions in recorded.turns
    ]
    kept = {"spec": spec_to_bytes(spec).hex(), "clips": recorded.clips, "turns": turns}
    draft = file.with_suffix(".tmp")
    with suppress(OSError):  # without it the agent needs a label
        draft.touch(0o600)
        draft.write_text(json.dumps(kept))
        draft.replace(file)


def _kept(ledger: Ledger) -> Parameters | None:
    """The parameters of the object that began the run; None of another agent, or long ago."""
    text = ledger.about.get(PARAMETERS)
    return None if text is None else Parameters.from_json(text)


def _read(folder: Path) -> RecordedTurns | None:
    """The first turns, if they were kept. Raises RunDamaged."""
    file = folder / FIRST_TURNS
    if not file.exists():
        return None
    try:
        kept = json.loads(file.read_bytes())
        spec = spec_from_bytes(bytes.fromhex(kept["spec"]))
        turns = [
            (_turn(bytes.fromhex(call), spec), bytes.fromhex(actions))
            for call, actions in kept["turns"]
        ]
        return RecordedTurns(spec, kept["clips"], turns)
    except (OSError, ValueError, KeyError, TypeError, BadReply, SpecError) as error:
        raise RunDamaged(f"{file} has changed since it was written, or cannot be read") from error


def _turn(message: bytes, spec: TaskSpec) -> Turn:
    """The turn of a serialised call. Raises BadReply for any other call."""
    call = call_from_bytes(message, spec).call
    if not isinstance(call, Turn):
        raise BadReply("WRONG_KIND", got=type(call).__name__, wanted=Turn.__name__)
    return call


def _answers(agent: object, name: str, recorded: RecordedTurns) -> tuple[str, bool]:
    try:
        return answer_recorded(LocalPort(agent_of(agent), name), recorded)
    except AgentFault as fault:
        return f"asked its first turns again, it failed: {fault}", True
