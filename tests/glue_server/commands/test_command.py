"""What a command says of flags that it cannot read."""

from __future__ import annotations

import pytest

from glue_server.commands.glue import main


@pytest.mark.parametrize(
    ("flag", "got", "words"),
    [
        ("--runs", "x", "got 'x', wanted a valid integer"),
        ("--step-timeout", "0", "got '0', wanted a number greater than or equal to 0.001"),
        ("--transport", "tcp", "'tcp' is not one of 'auto', 'grpc', 'unix'"),
    ],
)
def test_a_flag_says_what_it_got_and_what_it_wanted(
    capsys: pytest.CaptureFixture[str], flag: str, got: str, words: str
) -> None:
    with pytest.raises(SystemExit) as left:
        main([flag, got])
    assert left.value.code == 2
    told = " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert f"Invalid value for '{flag}': {words}" in told
