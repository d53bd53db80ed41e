from __future__ import annotations

from pathlib import Path

import pytest

from reglue_competition.competition_folder import CompetitionFolder
from reglue_competition.phases import check_reveal, reveal_file
from tests.reglue_competition.cli.conftest import Say


@pytest.fixture
def public(folder: Path) -> Path:
    """The competition's file, with one public phase of a few short episodes."""
    file = folder / "competition.toml"
    text = file.read_text().partition('[[phases]]\nname = "public"')[0]
    text = text.replace('kind = "practice"', 'kind = "public"\nneeds_admission = true')
    text = text.replace("mountain-car", "cart-pole")
    file.write_text(text.replace("num_episodes = 10", "num_episodes = 2"))
    return file


def test_environments_of_reglues_need_admission_where_they_have_bars(
    folder: Path, say: Say, public: Path
) -> None:
    words = ("competition", "open", str(folder), "practice")
    text = public.read_text().replace("needs_admission = true\n", "")
    public.write_text(text.replace("options = {", "admit = { random_below = 1 }, options = {"))
    assert say(*words).returncode == 2
    public.write_text(text)
    assert say(*words).returncode == 0


def test_a_phase_opens_with_exactly_what_was_admitted(folder: Path, say: Say, public: Path) -> None:
    words = ("competition", "open", str(folder), "practice")
    done = say(*words)
    assert (done.returncode, "it was not admitted" in done.stderr) == (2, True)
    assert f"`reglue competition admit {folder} practice`" in done.stderr.replace("\n", " ")
    assert say("competition", "admit", str(folder)).returncode == 0
    text = public.read_text()
    for changed in (
        text.replace("num_episodes = 2", "num_episodes = 3"),
        text.replace("options = { num", "admit = { random_below = 1 }, options = { num"),
    ):
        assert changed != text
        public.write_text(changed)
        done = say(*words)
        assert (done.returncode, "has changed since it was looked at" in done.stderr) == (2, True)
    public.write_text(text)
    assert say(*words).returncode == 0


def test_a_phase_may_be_opened_that_is_not_admitted_and_the_log_says_so(
    folder: Path, say: Say, public: Path
) -> None:
    words = ("competition", "open", str(folder))
    assert say(*words, "nowhere", "--not-admitted").returncode == 2
    assert say(*words, "practice", "--not-admitted").returncode == 0
    with CompetitionFolder.read(folder).store() as store:
        kinds = [event.kind for event in store.events()]
    assert kinds.count("admission waived") == 1


def test_a_phase_is_revealed_once_it_is_closed(folder: Path, say: Say, tmp_path: Path) -> None:
    """The page publishes it, or it is written where the organiser says."""
    out, other = reveal_file(folder, "practice"), tmp_path / "reveal.json"
    words = ("competition", "reveal", str(folder), "practice")
    for state, then in (("planned", "open"), ("open", "close")):
        done = say(*words)
        assert (done.returncode, f"it is {state}" in done.stderr) == (2, True)
        assert say("competition", then, str(folder), "practice").returncode == 0
    assert not out.exists()
    assert say(*words).returncode == 0
    assert say(*words, str(other)).returncode == 0
    with CompetitionFolder.read(folder).store() as store:
        published = store.phases()[0].plan_commitment
    assert published is not None
    assert check_reveal(out, published).phase == "practice"
    assert other.read_bytes() == out.read_bytes()


def test_a_plan_that_is_not_what_was_committed_to_is_not_revealed(
    folder: Path, say: Say, tmp_path: Path
) -> None:
    for then in ("open", "close"):
        say("competition", then, str(folder), "practice")
    file = folder / "competition.toml"
    file.write_text(file.read_text().replace("num_episodes = 10", "num_episodes = 11"))
    done = say("competition", "reveal", str(folder), "practice", str(tmp_path / "reveal.json"))
    assert (done.returncode, "not the one that was committed to" in done.stderr) == (2, True)
    assert not (tmp_path / "reveal.json").exists()
