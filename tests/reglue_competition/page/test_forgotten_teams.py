"""A team that is forgotten while the page runs."""

from __future__ import annotations

from pathlib import Path

from reglue_competition.store import Store
from tests.reglue_competition.page.competition_builder import begin, end, enter, faulty, play
from tests.reglue_competition.page.conftest import Open, log_in


def test_the_page_shows_nothing_personal_of_a_forgotten_team(tmp_path: Path, opened: Open) -> None:
    """Neither from what it has read before, nor after a new start."""
    made = begin(tmp_path)
    with Store(made.url) as store:
        submission = enter(store, made, "Ada Lab", "sarsa of Ada")
        words = "/home/ada"
        end(store, submission, faulty(0.5, words, label="Ada"), play(0.5, label="Ada"))
        end(store, enter(store, made, "Eve", "x"), play(0.4), play(0.4))
        store.file_appeal(store.team("Ada Lab"), submission.id, "Ada thinks that it is unfair")
        here = f"/submissions/{submission.id}"
        pages = ("/", "/organiser", "/phases/warm-up", here)
        before = opened(made)
        log_in(before, made.organiser)
        seen = "".join(before.get(page).text for page in pages)
        assert all(each in seen for each in ("Ada Lab", "sarsa of Ada", words, "Ada thinks"))
        name = store.forget_team("Ada Lab").name
        before.app_state["site"].look()
        before.app_state["site"].rank()
        after = opened(made)
        log_in(after, made.organiser)
        for client in (before, after):
            for page in pages:
                shown = client.get(page)
                assert shown.status_code == 200
                assert "Ada" not in shown.text, page
                assert words not in shown.text, page
                assert name in shown.text, page
