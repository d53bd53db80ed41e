"""Submissions that play goals and cells of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reglue.errors import NotTrusted, UsageError
from reglue_bench.runs.ledger import LedgerReader
from reglue_competition.phases import PhaseReveal, check_reveal, reveal
from reglue_competition.runs.submission import run_folder, transcript_file
from reglue_competition.store import Submission
from reglue_competition.transcript.verification import Verdict, check_plan, verify
from tests.error_facts import raises
from tests.reglue_bench.agents import Seeded
from tests.reglue_competition.competitions import phase
from tests.reglue_competition.runs.corridor_submissions import CORRIDOR, joined
from tests.reglue_competition.runs.hosting import Hosting, corridor, hosting
from tests.reglue_competition.transcript.transcripts import STRANGER, changed

STRANGERS = STRANGER.public_key().public_bytes_raw().hex().encode()
MENDED = "multi-task:tests.reglue_competition.runs.corridor_submissions:Mended"


def cells(server: Hosting, submission: Submission) -> str:
    """The key by which a submission's cells are drawn."""
    with LedgerReader(run_folder(server.folder(submission), 0)) as ledger:
        return ledger.about["cell key"]


def revealed(server: Hosting, folder: Path) -> PhaseReveal:
    """The phase's goals and cells, as they are published."""
    drawn, salt = server.hosted.benchmarks("public"), server.hosted.secrets.salt("public")
    reveal(folder / "reveal.json", drawn, salt, competition="test", phase="public")
    return check_reveal(folder / "reveal.json", server.hosted.commitment("public"))


def checked(path: Path, of: PhaseReveal) -> Verdict:
    verdict = verify(path, trust_code=True)
    assert verdict.stands, verdict.problem
    return check_plan(verdict, of, trust_code=True)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Hosting, Path]]:
    """A phase of own cells that two teams have played, with the same agent."""
    folder = tmp_path_factory.mktemp("own")
    with hosting(folder, phase(benchmarks=[corridor()], cells="own")) as server:
        for team in ("one", "two"):
            with joined(server.team(team), Seeded()):
                server.runs_until_status("finished", team)
        yield server, folder


def transcript(server: Hosting, submission: Submission) -> Path:
    return transcript_file(server.hosted.folder.transcripts_path, submission.id, 0)


def test_no_two_submissions_play_the_same_cells(own: tuple[Hosting, Path]) -> None:
    server, _ = own
    one, two = (server.submission(team) for team in ("one", "two"))
    of_phase = server.hosted.benchmarks("public")[0].cell_key
    assert len({cells(server, one), cells(server, two), of_phase}) == 3


def test_anybody_can_draw_them_again_once_the_phase_is_revealed(
    own: tuple[Hosting, Path], tmp_path: Path
) -> None:
    server, _ = own
    of = revealed(server, tmp_path)
    for team in ("one", "two"):
        assert checked(transcript(server, server.submission(team)), of).stands


def test_other_cells_than_a_submissions_own_are_found(
    own: tuple[Hosting, Path], tmp_path: Path
) -> None:
    """Also by who has the key: as if the organiser had given a team the cells of another draw."""
    server, _ = own
    submission = server.submission("one")
    path = tmp_path / "run.reglue"
    path.write_bytes(transcript(server, submission).read_bytes())
    edits = {b'"draw":1': b'"draw":2', server.hosted.secrets.public_key.hex().encode(): STRANGERS}
    for old, new in edits.items():
        changed(path, lambda _, content: content.replace(old, new), key=STRANGER)  # noqa: B023
    verdict = checked(path, revealed(server, tmp_path))
    assert "another plan than was committed to" in verdict.problem


def test_drawing_them_again_runs_nobodys_code_unasked(
    own: tuple[Hosting, Path], tmp_path: Path
) -> None:
    server, _ = own
    verdict = verify(transcript(server, server.submission("one")), trust_code=True)
    with raises(NotTrusted, "phase public", "'tests.worlds:Corridor'", settings={"trust_code"}):
        check_plan(verdict, revealed(server, tmp_path))


@pytest.mark.parametrize("wrong", [{"slots": "many"}, {"secret": 3}, {"no_setting": 1}])
def test_settings_that_are_none_do_not_stand(
    own: tuple[Hosting, Path], tmp_path: Path, wrong: dict[str, Any]
) -> None:
    server, _ = own
    verdict = verify(transcript(server, server.submission("one")), trust_code=True)
    of = revealed(server, tmp_path)
    edited = [each.model_copy(update={"settings": wrong}) for each in of.benchmarks]
    found = check_plan(verdict, of.model_copy(update={"benchmarks": edited}), trust_code=True)
    assert "are none" in found.problem


def test_what_an_environment_broke_is_played_again_as_a_whole_on_other_cells(
    tmp_path: Path,
) -> None:
    fuse = tmp_path / "fuse"
    fuse.write_bytes(b"...")
    options = {"environment_args": {"fuse": str(fuse), **CORRIDOR}, "num_episodes": 6, "slots": 2}
    with hosting(tmp_path, phase(benchmarks=[{"benchmark": MENDED, "options": options}])) as server:
        ours = server.team("ours")
        with joined(ours, Seeded()):
            server.runs_until_status("broken", "ours")
        before = server.submission("ours")
        (run,) = server.store.runs(before.id)
        assert (run.status, before.draw) == ("environment_error", 0)
        first = cells(server, before)
        fuse.write_bytes(b"")
        here = server.gateway._sessions
        server.runs_until(lambda: not any(each.is_kept for each in [*here.values()]), "it has left")
        server.store.ask_replay(before.id)
        assert server.store.runs(before.id) == []
        with joined(ours, Seeded()):
            server.runs_until_status("finished", "ours")
        again = server.submission("ours")
        assert (again.id, again.draw) == (before.id, 1)
        assert cells(server, again) != first
        (run,) = server.store.runs(again.id)
        assert (run.status, run.score is None) == ("ok", False)
        assert checked(transcript(server, again), revealed(server, tmp_path)).stands


def test_what_the_server_broke_goes_on_where_it_was(tmp_path: Path) -> None:
    with hosting(tmp_path) as server:
        server.team("ours")
        entered = server.enter("ours")
        server.store.set_status(entered.id, "broken", "a full disk")
        server.store.ask_replay(entered.id)
        assert server.submission("ours").draw == 0


def test_nothing_is_played_again_once_everybody_knows_the_goals(tmp_path: Path) -> None:
    with hosting(tmp_path) as server:
        server.team("ours")
        entered = server.enter("ours")
        with raises(UsageError, "phase public", "it is open"):
            server.store.reveal_phase("public")
        server.store.close_phase("public")
        with raises(UsageError, "phase public", "1 submissions"):
            server.store.reveal_phase("public")
        server.store.set_status(entered.id, "broken", "a full disk")
        server.store.reveal_phase("public")
        with raises(UsageError, f"submission {entered.id}", "phase public was revealed"):
            server.store.ask_replay(entered.id)
