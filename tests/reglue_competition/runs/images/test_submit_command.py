"""`reglue submit` at a competition's door."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from reglue.tools.submit_command import main
from reglue.v1 import submission_pb2
from reglue_competition.images import unpack_project
from tests.reglue_competition.images.test_image import Made, tar
from tests.reglue_competition.runs.images.door import archived, door

pytestmark = pytest.mark.usefixtures("cleared")

Stub = Callable[..., submission_pb2.ArchiveState]


def test_the_command_says_what_came_of_it(
    tmp_path: Path, large: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(archived(tmp_path, tar(large.saved())))
    with door(tmp_path) as here:
        words = [str(here.team()), file, "--name", "first", "--connect-timeout", "20"]
        assert main(words) == 0
        (submission,) = here.store.submissions()
        shown = capsys.readouterr()
        first, second = shown.out.splitlines()
        assert first == f"submission {submission.id}, 'first', waits in phase public"
        assert (second, shown.err) == (f"its agent is {submission.image}", "")
        assert main([*words, "--token", "another"]) == 2
        assert "the token is wrong" in capsys.readouterr().err
        assert main([words[0], "none.tar", "--name", "first"]) == 2
        assert "cannot be read: No such file" in capsys.readouterr().err
    assert main([*words, "--connect-timeout", "0.5"]) == 1
    assert "no glue answered" in capsys.readouterr().err


def test_an_agent_in_python_is_handed_in_with_the_files_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agent = tmp_path / "my-agent/agent.py"
    agent.parent.mkdir()
    agent.write_text("class MyAgent: pass\n")
    with door(tmp_path, images={"python": "python:3"}) as here:
        words = [str(here.team()), f"{agent}:MyAgent", "--name", "first"]
        assert main(words) == 0
        (submission,) = here.store.submissions()
        assert submission.image is not None
        assert submission.image.startswith("project:")
        shown = capsys.readouterr()
        assert shown.out.splitlines()[1] == f"its agent is {submission.image}"
        assert shown.err == f"reglue submit: sends the 1 file of {agent.parent}\n"
        to = tmp_path / "project"
        kept = here.folder.image_file(submission.image)
        assert unpack_project(kept, to) == "agent.py:MyAgent"
        assert (to / "agent.py").read_text() == "class MyAgent: pass\n"
    (tmp_path / "images-alone").mkdir()
    with door(tmp_path / "images-alone") as here:
        assert main([str(here.team()), f"{agent}:MyAgent", "--name", "first"]) == 2
        assert "this competition plays images alone" in capsys.readouterr().err


def test_a_terminal_shows_how_far_it_is(
    tmp_path: Path,
    large: Made,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    file = archived(tmp_path, tar(large.saved()))
    with door(tmp_path) as here:
        assert main([str(here.team()), str(file), "--name", "first"]) == 0
    drawn = capsys.readouterr().err.replace("\033[K", "").split("\r")
    size = f"{file.stat().st_size / 2**20:.1f} MiB"
    whole = f"{24 * '━'} {size.removesuffix(' MiB')} of {size}"
    assert f"reading {whole}" in drawn
    assert any(each.startswith("sending ") and each.endswith("MiB/s") for each in drawn)
    assert drawn[-1] == ""
