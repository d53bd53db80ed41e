"""Time limits of the glue."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Timeouts:
    """Limits on the time of an agent or an environment, seconds."""

    first_step_s: float = 300.0  # init, freeze, adapt, … and the first turn: some compile then
    step_s: float = 60.0  # every other turn
    environment_s: float = 300.0  # each call of the environment
    bank_s: float = 0.0  # what an agent's slow calls may draw on
    adapt_s: float | None = None  # all adaptation calls of a wave; None: no limit
    run_s: float | None = None  # all calls of an agent in a run; None: no limit
    turn_every_s: float = 0.0  # turns are sent at multiples of it after the agent's last answer
    plays_defaults: bool = False  # when a turn is late; else its agent is lost
