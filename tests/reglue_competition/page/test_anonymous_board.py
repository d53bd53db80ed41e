"""A phase that names no team to others before it is closed and played."""

from __future__ import annotations

from pathlib import Path

from reglue_competition.store import Store
from tests.reglue_competition.page.competition_builder import (
    begin,
    end,
    enter,
    in_practice,
    play,
)
from tests.reglue_competition.page.conftest import Open, log_in


def test_teams_are_numbers_to_others_until_the_phase_is_played(
    tmp_path: Path, opened: Open
) -> None:
    of = in_practice()
    first = of.phases[0].model_copy(update={"names": "after_close"})
    made = begin(tmp_path, of.model_copy(update={"phases": (first, *of.phases[1:])}))
    with Store(made.url) as store:
        for team, score in {"Ada": 0.5, "Bertha": 0.9}.items():
            end(store, enter(store, made, team, f"try-of-{team}"), play(score), play(score))
        waits = enter(store, made, "Cleo", "try-of-Cleo")
        rival = store.add_team("Team 1")  # as Ada is called
        made.teams[rival.name] = store.new_token(rival)
        clients = anybody, bertha, organiser, namesake = [opened(made) for _ in range(4)]
        log_in(bertha, made.teams["Bertha"])
        log_in(organiser, made.organiser)
        log_in(namesake, made.teams["Team 1"])

        def named(page: str) -> list[set[str]]:
            """The teams that each reader finds there."""
            teams = {"Ada", "Bertha", "Cleo"}
            return [{each for each in teams if each in client.get(page).text} for client in clients]

        own = f"/submissions/{made.submissions['try-of-Bertha']}"
        rivals = f"/submissions/{made.submissions['try-of-Ada']}"
        assert named("/") == [set(), {"Bertha"}, {"Ada", "Bertha", "Cleo"}, set()]
        assert named(own) == [set(), {"Bertha"}, {"Bertha"}, set()]
        assert named(rivals) == [set(), set(), {"Ada"}, set()]
        assert "Only you can see this" not in namesake.get(rivals).text
        board = anybody.get("/").text
        assert "Team 2 is ahead of all others." in board
        assert all(f"Team {number}" in board for number in (1, 2, 3))
        assert "Teams are named when this phase is closed" in board
        store.close_phase("warm-up")
        end(store, waits, status="cancelled")
        for client in clients:
            client.app_state["site"].look()
            client.app_state["site"].rank()
        assert named("/") == 4 * [{"Ada", "Bertha"}]
        assert "Teams are named" not in anybody.get("/").text
