from __future__ import annotations

import stat
from pathlib import Path

from reglue_competition.competition_folder import CompetitionFolder
from reglue_competition.store import Organiser
from tests.reglue_competition.cli.conftest import Say
from tests.reglue_competition.postgresql import PostgreSQL


def test_a_new_competition_is_the_owners_alone_and_can_be_served(say: Say, tmp_path: Path) -> None:
    made = tmp_path / "my-comp"
    done = say("competition", "init", str(made), "--title", 'A "title" 🎉', "--address", "a.b:7")
    assert done.returncode == 0, done.stderr
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    found = CompetitionFolder.read(made)
    assert (found.definition.name, found.definition.title) == ("my-comp", 'A "title" 🎉')
    assert found.definition.address == "a.b:7"
    with found.store() as store:
        assert [phase.name for phase in store.phases()] == ["practice", "public", "private"]
        assert isinstance(store.bearer(done.stdout.split()[-1]), Organiser)
    assert say("competition", "check", str(made)).returncode == 0
    assert say("competition", "open", str(made), "practice").returncode == 0


def test_a_competition_on_postgresql_is_alone_in_its_database(
    say: Say, tmp_path: Path, postgresql: PostgreSQL
) -> None:
    words = ["--database", postgresql.emptied_database()]
    done = say("competition", "init", str(tmp_path / "one"), *words)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "one" / "competition.sqlite").exists()
    assert say("competition", "status", str(tmp_path / "one")).returncode == 0
    done = say("competition", "init", str(tmp_path / "two"), *words)
    assert (done.returncode, "holds a competition already" in done.stderr) == (2, True)
    assert not (tmp_path / "two").exists()
    assert CompetitionFolder.read(tmp_path / "one").definition.name == "one"


def test_what_may_not_change_is_listed(folder: Path, say: Say) -> None:
    say("competition", "open", str(folder), "practice")
    file = folder / "competition.toml"
    text = file.read_text()
    file.write_text(text.replace("step_s = 10.0", "step_s = 5.0").replace("Treasures", "More"))
    done = say("competition", "check", str(folder))
    assert done.returncode == 2
    assert "play.first_step_s" not in done.stderr
    assert "play.step_s: got 5.0, wanted 10.0 as before" in done.stderr
    file.write_text(text.replace("Treasures", "More"))
    assert say("competition", "check", str(folder)).returncode == 0


def test_what_is_played_may_be_drawn_before(folder: Path, say: Say) -> None:
    file = folder / "competition.toml"
    file.write_text(file.read_text().partition('[[phases]]\nname = "public"')[0])
    done = say("competition", "check", str(folder), "--draw")
    assert done.returncode == 0, done.stderr
    assert "evaluate:mountain-car: 1 task, 1 goal" in done.stdout


def test_tasks_are_admitted_before_anybody_plays_them(folder: Path, say: Say) -> None:
    file = folder / "competition.toml"
    text = file.read_text().partition('[[phases]]\nname = "public"')[0]
    bar = "admit = { random_below = -300 }, options"
    file.write_text(
        text.replace("evaluate:mountain-car", "evaluate:cart-pole").replace("options =", f"{bar} =")
    )
    done = say("competition", "admit", str(folder), "practice")
    assert done.returncode == 1, done.stderr
    assert "✓ 5 episodes are the same to the bit" in done.stdout
    assert "✗ random scores" in done.stdout
    assert done.stdout.endswith("not admitted: practice\n")
    with CompetitionFolder.read(folder).store() as store:
        (event,) = (each for each in store.events() if each.kind == "admission")
    assert (event.detail["phase"], event.detail["passed"]) == ("practice", False)


def test_a_starter_kit_is_written_for_teams(folder: Path, say: Say, tmp_path: Path) -> None:
    file = folder / "competition.toml"
    file.write_text(file.read_text().partition('[[phases]]\nname = "public"')[0])
    done = say("competition", "kit", str(folder), str(tmp_path / "kit"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "kit/README.md").read_text().startswith("# Treasures: starter kit\n")
