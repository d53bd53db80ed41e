"""Wrong uses of the commands: the exit code, the setting that is named, got and wanted."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.reglue_bench.cli.conftest import Say

WRONG_USES = [
    # A command, then what it names: a flag or an argument, what it got and what it wanted.
    ("bench MT11 --agent random", "benchmark", "MT11", "did you mean MT10"),
    ("bench MT1:reech-v3 --agent random", "task", "reech-v3", "did you mean reach-v3"),
    ("bench online:mountain-cart --agent random", "", "mountain-cart", "did you mean mountain-car"),
    ("bench CartPole-v1 --agent random", "", "CartPole-v1", "online:gymnasium:CartPole-v1"),
    ("bench online:CartPole-v1 --agent random", "", "", "did you mean gymnasium:CartPole-v1"),
    ("bench reach-v3 --agent random", "", "", "did you mean the environment MT1:reach-v3"),
    ("bench MT10", "--agent", "no agent", "--agent NAME"),
    ("bench --agent random", "", "no benchmark", "--resume FOLDER"),
    ("bench MT10 --agent random --agent-cmd true", "--agent-cmd", "", "not both"),
    ("bench MT1:reach-v3 --agent exprt", "", "exprt", "did you mean expert"),
    ("bench MT1:reach-v3 --agent nothing.py:Nobody", "", "no file nothing.py", ""),
    ("bench MT1:reach-v3 --agent random --agent-arg x", "--agent-arg", "'x'", "wanted key=value"),
    ("bench MT1:reach-v3 --agent-cmd /no/such/program", "", "/no/such", "cannot be started"),
    ("bench MT1:reach-v3 --agent-cmd \"'open\"", "--agent-cmd", "'open", ""),
    ("bench MT1:reach-v3 --agent random --num-evals 2", "--num-evals", "meta-learning", "--num-ep"),
    ("bench MT1:reach-v3 --agent random --slots 0", "--slots", "got 0", "greater than or equal"),
    ("bench ML1:reach-v3 --agent random --slots 3", "--slots 3", "", "--meta-batch-size 3"),
    ("bench MT1:reach-v3 --agent random --episode-horizon 501", "", "501", "wanted 1 to 500"),
    ("bench MT1:reach-v3 --agent random --split test", "split", "test", "wanted train"),
    ("bench MT1:reach-v3 --agent random --step-timeout 0", "--step-timeout", "got 0.0", "than 0"),
    ("bench MT1:reach-v3 --agent wait --listen nowhere", "nowhere", "", "wanted host:port"),
    ("bench MT1:reach-v3 --agent wait --sandbox user", "--sandbox", "user", "must isolate it"),
    ("bench MT1:reach-v3 --agent random --retry-faults", "--retry-faults", "", "with --resume"),
    ("bench MT1:reach-v3 --agent random --at-once 2", "--at-once", "", "--training-seeds N"),
    ("bench MT1:reach-v3 --agent random --training-seeds 2", "--training-seeds", "2", "--train-st"),
    ("bench MT1:reach-v3 --agent random --training-seeds 1", "--training-seeds", "'1'", "2"),
    ("bench MT1:reach-v3 --agent random --eval-every 9", "--eval-every", "", "--train-steps"),
    ("bench MT1:reach-v3 --agent random --train-steps 1.5", "--train-steps", "'1.5'", "integer"),
    ("bench MT1:reach-v3 --agent random --engine rays", "--engine", "rays", "ray://HOST:PORT"),
    ("bench MT1:reach-v3 --agent random --secret x", "--secret", "got 1 characters", "or more"),
    ("bench MT1:reach-v3 --agent random --out /dev/null/x", "/dev/null/x", "", "cannot be made"),
    ("bench --resume nowhere", "no such folder", "nowhere", ""),
    ("bench --resume nowhere --out x", "--resume", "", "omit --out"),
    ("bench MT10 --no-such-flag", "--no-such-flag", "", ""),
    ("bench online:grid --agent random --environment-arg x", "--environment-arg", "'x'", "key=v"),
    ("bench online:access-control --agent random --episodes 3", "", "continuing", "give --steps N"),
    ("try MT1:reach-v3", "--agent", "no agent", "--agent-cmd PROGRAM"),
    ("try online:wait --agent random", "", "online:wait", "online:file.py:Class"),
    ("benchmarks --describe", "--describe", "", "give its name"),
    ("benchmarks MT11 --describe", "", "there is no benchmark 'MT11'", "did you mean MT10"),
    ("benchmarks online:wait --describe", "", "waits for an environment to connect", ""),
    ("benchmarks multi-task:access-control --describe", "", "is a continuing task", "--steps N"),
    ("cache burn", "", "'burn'", "'clear'"),
    ("report .", "", "neither a ledger nor a result.json", ""),
    ("dataset export .", "", "got no place to write to", "wanted PATH, or --id NAME-v0"),
    ("bakeoff none.toml", "none.toml", "No such file", ""),
    ("kit cobol x", "", "'cobol'", "'julia'"),
    ("glue --runs x", "--runs", "got 'x'", "wanted a valid integer"),
    ("glue --runs -1", "--runs", "got -1", "wanted a number greater than or equal to 0"),
    ("glue --step-timeout 0", "--step-timeout", "got 0.0", "wanted a number greater than 0"),
    ("glue --bank -0.5", "--bank", "got -0.5", "wanted a number greater than or equal to 0"),
    ("glue --transport tcp", "--transport", "'tcp' is not one of", "'auto', 'grpc', 'unix'"),
    ("glue --run-ports x", "--run-ports", "got --run-ports x", "wanted FIRST-LAST"),
    ("glue --run-processes --runs 1", "--runs", "", "omit --run-ports and --run-processes"),
    ("glue --run-processes --reflection", "--reflection", "", "omit --run-ports and --run-proc"),
    ("glue --listen 0.0.0.0:0", "--listen 0.0.0.0", "without TLS", "--insecure"),
    ("glue --tls-cert x.pem", "--tls-key", "", "go together"),
    ("glue --secret x", "--secret", "got 1 characters", "or more"),
    ("conformance nobody", "", "'nobody'", "'agent'"),
    ("conformance agent --only nothing", "", "no check is called 'nothing'", ""),
    ("conformance agent --cmd /nowhere/at-all", "", "/nowhere/at-all", "cannot be started"),
    ("conformance agent --listen nowhere", "--listen", "nowhere", "host:port"),
    ("conformance agent --listen 127.0.0.1:99999", "--listen", "127.0.0.1:99999", "host:port"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "named", "got", "wanted"), WRONG_USES)
def test_a_wrong_use_leaves_with_2_and_names_what_is_wrong(
    say: Say, tmp_path: Path, command: str, named: str, got: str, wanted: str
) -> None:
    done = say(*shlex.split(command), folder=tmp_path)
    assert done.returncode == 2
    error = " ".join(done.stderr.replace("│", " ").split())
    for fact in (named, got, wanted):
        assert fact in error
    assert "Traceback" not in error
    assert not [each for each in tmp_path.rglob("*") if each.is_file()]
