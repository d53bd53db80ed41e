"""What a command says of flags that it cannot read."""

from __future__ import annotations

import pytest

from glue_server.commands.glue import main


@pytest.mark.parametrize(
    ("flag", "got", "words"),
    [
        ("--runs", "x", "Invalid value for '--runs': got 'x', wanted a valid integer"),
        ("--runs", "-1", "--runs: got -1, wanted a number greater than or equal to 0"),
        ("--step-timeout", "0", "--step-timeout: got 0.0, wanted a number greater than 0"),
        ("--bank", "-0.5", "--bank: got -0.5, wanted a number greater than or equal to 0"),
        (
            "--transport",
            "tcp",
            "Invalid value for '--transport': 'tcp' is not one of 'auto', 'grpc', 'unix'",
        ),
    ],
)
def test_a_flag_says_what_it_got_and_what_it_wanted(
    capsys: pytest.CaptureFixture[str], flag: str, got: str, words: str
) -> None:
    with pytest.raises(SystemExit) as left:
        main([flag, got])
    assert left.value.code == 2
    told = " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert words in told
