"""`reglue verify`: what it prints, and how it leaves."""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.reglue_bench.benching import commanded
from tests.reglue_bench.conftest import Say
from tests.reglue_competition.played_phase import PlayedPhase
from tests.reglue_competition.transcript.transcripts import STRANGER, changed
from tests.waiting import until


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> PlayedPhase:
    return PlayedPhase(tmp_path_factory.mktemp("cup"))


def test_a_score_that_stands(say: Say, played: PlayedPhase) -> None:
    done = say("verify", str(played.transcript), "--key", played.key, "--workers", "0")
    assert done.returncode == 0, done.stdout
    told = done.stdout.splitlines()
    assert told[0] == "team Team [2J A, submission s1: benchmark 0 of phase public of test"
    assert told[1] == f"signed by {played.key} (--key)"
    assert told[2].endswith("episodes replayed exactly")
    assert told[3].startswith("recorded with python 3")
    assert told[-2].startswith("STANDS: RandomAgent on multi-task:gridworld: success")
    assert told[-1].startswith("1 goal: its episodes count as one")


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 1])
def test_ctrl_c_stops_it(tmp_path: Path, workers: int) -> None:
    """Also while an environment hangs."""
    (fuse := tmp_path / "fuse").touch()
    solved = {"walk": [9]}
    played = PlayedPhase(tmp_path, "multi-task:tests.worlds:Hanging", solved=solved, fuse=str(fuse))
    fuse.write_bytes(bytes(1))
    words = ["verify", str(played.transcript), "--trust-code", "--workers", str(workers)]
    with commanded(words) as command:
        until(lambda: not fuse.stat().st_size, "it hangs")
        command.process.send_signal(signal.SIGINT)
        code, said = command.ended()
        assert not command.left_behind()
    assert code == 130, said
    assert "Traceback" not in said
    assert "STANDS" not in said


def test_without_a_key_the_signer_is_not_known(
    say: Say, played: PlayedPhase, tmp_path: Path
) -> None:
    """Anybody can sign with a key of their own."""
    path = tmp_path / "run.reglue"
    path.write_bytes(played.transcript.read_bytes())
    own = STRANGER.public_key().public_bytes_raw().hex().encode()
    edits = {played.key.encode(): own, b'"team":"Team': b'"team":"Mine'}
    changed(path, lambda _, content: _edited(content, edits), key=STRANGER)
    told = say("verify", str(path), "--workers", "0").stdout.splitlines()
    assert told[0].startswith("team Mine")
    assert "not known" in told[1]
    assert told[-2].startswith("STANDS, but its signer is unknown: ")
    assert say("verify", str(path), "--workers", "0", "--key", played.key).returncode == 1


def _edited(content: bytes, edits: Mapping[bytes, bytes]) -> bytes:
    for old, new in edits.items():
        content = content.replace(old, new)
    return content


def test_a_hidden_task_is_signed_and_not_replayed(say: Say, tmp_path: Path) -> None:
    played = PlayedPhase(tmp_path, "multi-task:tests.worlds:Corridor", solved={"walk": [0] * 4})
    plan = ["--plan", str(played.revealed), "--commitment", played.commitment]
    words = ("verify", str(played.transcript), "--key", played.key, *plan)
    done = say(*words)
    assert done.returncode == 3, done.stdout + done.stderr
    told = done.stdout.splitlines()
    assert told[2].startswith("not replayed: ")
    assert "its plan is what was committed to" in told
    assert any(line.startswith("SIGNED, NOT REPLAYED: ") for line in told)
    as_json = json.loads(say(*words, "--json").stdout)
    assert (as_json["stands"], as_json["problem"], as_json["plan_checked"]) == (False, "", True)
    assert "trust-code" in as_json["not_replayed"]
    assert say(*words, "--trust-code", "--workers", "0").returncode == 0


def test_what_it_says_as_json(say: Say, played: PlayedPhase) -> None:
    done = say("verify", str(played.transcript), "--episodes", "2", "--workers", "0", "--json")
    told = json.loads(done.stdout)
    assert told["stands"]
    assert (told["team"], told["key_known"], told["is_signed"]) == ("Team \x1b[2J A", False, True)
    assert (told["episodes"], told["selected"], told["replayed"]) == (4, 2, 2)
    assert 0.0 <= told["score"] <= 1.0


def test_the_plan_is_what_was_committed_to(say: Say, played: PlayedPhase) -> None:
    plan = ["--plan", str(played.revealed), "--commitment", played.commitment]
    done = say("verify", *plan)
    assert (done.returncode, done.stdout) == (0, "the plan is what was committed to\n")
    done = say("verify", str(played.transcript), *plan, "--workers", "0")
    assert done.returncode == 0
    assert "its plan is what was committed to" in done.stdout


def test_another_commitment_is_found(say: Say, played: PlayedPhase) -> None:
    done = say("verify", "--plan", str(played.revealed), "--commitment", "0" * 64)
    assert done.returncode == 1
    assert "opens the commitment" in done.stderr


def test_a_run_of_another_plan_than_was_committed_to_is_found(
    say: Say, played: PlayedPhase, tmp_path: Path
) -> None:
    other = PlayedPhase(tmp_path)
    plan = ["--plan", str(other.revealed), "--commitment", other.commitment]
    done = say("verify", str(played.transcript), *plan, "--workers", "0")
    assert done.returncode == 1
    assert "got another plan than was committed to" in done.stdout


def test_a_score_that_does_not_stand(say: Say, played: PlayedPhase, tmp_path: Path) -> None:
    path = tmp_path / "run.reglue"
    path.write_bytes(played.transcript.read_bytes())
    changed(path, lambda _, content: content.replace(b'"Team', b'"Toam'))
    done = say("verify", str(path), "--workers", "0")
    assert done.returncode == 1
    assert "DOES NOT STAND: the signature is not" in done.stdout
    told = json.loads(say("verify", str(path), "--workers", "0", "--json").stdout)
    assert not told["stands"]
