"""A phase that was played in this process, as a transcript shows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reglue.examples.random_agent import RandomAgent
from reglue_bench.evaluation import start
from reglue_bench.runs.observer import NullObserver
from reglue_bench.runs.run import Request
from reglue_competition.phases import Secrets, commitment, plan_phase, reveal
from reglue_competition.transcript.transcript_writer import RunIdentity, write_transcript
from tests.reglue_competition.competitions import definition, phase

GRIDWORLD = "multi-task:gridworld"


class PlayedPhase:
    """A phase that one agent has played: its transcript, and what the organiser publishes."""

    def __init__(self, folder: Path, benchmark: str = GRIDWORLD, **environment: Any) -> None:
        secrets = Secrets.create(folder / "secrets")
        options: dict[str, Any] = {"num_episodes": 4, "episode_limit": 20}
        if environment:
            options["environment_args"] = environment
        entry = {"benchmark": benchmark, "options": options}
        whole = definition(phase(benchmarks=[entry]))
        drawn = plan_phase(whole, whole.phases[0], secrets, folder)
        self.key = secrets.public_key.hex()
        self.commitment = commitment(drawn, secrets.salt("public"))
        self.revealed = folder / "reveal.json"
        reveal(self.revealed, drawn, secrets.salt("public"), competition="test", phase="public")
        settings = drawn[0].settings.model_copy(update={"workers": 0})
        request = Request(settings, drawn[0].plan, agent=RandomAgent())
        start(folder / "run", request, NullObserver())
        header = RunIdentity("test", "public", "s1", 0, "Team \x1b[2J A", 0, secrets.public_key)
        self.transcript = folder / "run.reglue"
        write_transcript(self.transcript, header=header, folder=folder / "run", sign=secrets.sign)
