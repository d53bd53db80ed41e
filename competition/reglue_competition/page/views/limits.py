"""What happens at each limit, for those who play."""

from __future__ import annotations

from collections.abc import Sequence

from reglue_competition.definition import PlayLimits

_OURS = "; while this server is away no time counts, and the submission waits for its agent"


def limits(play: PlayLimits) -> Sequence[tuple[str, str, str]]:
    """Each limit, its size, and what happens there."""
    late = (
        "the environment gets a default action for that turn, and play goes on"
        if play.late == "default action"
        else "the agent has failed: what it did not play counts as failure"
    )
    failed = "the agent has failed: what it did not play counts as failure"
    found = [
        ("a turn", _duration(play.step_s), "time beyond it is taken from the bank"),
        ("the bank, in each run", _duration(play.bank_s), f"once it is empty, {late}"),
        ("init and the first turn", _duration(play.first_step_s), failed),
        ("a lost connection", _duration(play.reconnect_window_s), f"{failed}{_OURS}"),
        ("beginning when its turn comes", _duration(play.connect_timeout_s), failed),
    ]
    if play.round_every_s is not None:
        every = _duration(play.round_every_s)
        found.insert(0, ("rounds", f"every {every}", "what was entered before one plays in it"))
    run = "by its episodes" if play.run_s is None else _duration(play.run_s)
    found.insert(2, ("a run, in all", run, failed))
    if play.turn_grid_s is not None:
        found.append(("answers", f"every {play.turn_grid_s:g} s", "so that timing tells nothing"))
    return found


def _duration(seconds: float) -> str:
    hours, rest = divmod(seconds, 3600)
    if hours and not rest:
        return f"{hours:g} h"
    minutes, rest = divmod(seconds, 60)
    return f"{minutes:g} min" if minutes and not rest else f"{seconds:g} s"
