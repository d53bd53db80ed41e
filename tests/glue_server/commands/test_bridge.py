"""`reglue bridge` with bridges of other packages."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint
from typing import Annotated

import pytest
import typer

from glue_server.commands import bridge

HEARD: list[tuple[str, int]] = []


def tuba(
    tune: Annotated[str, typer.Argument(help="what to play")],
    loud: Annotated[int, typer.Option(help="how loud")] = 1,
) -> None:
    """Play a tune.

    Exit codes: 0 played.
    """
    HEARD.append((tune, loud))


@pytest.fixture
def reglue_bridge(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[object, str]]:
    """Runs `reglue bridge` with two bridges, one of which lacks its package: its code and text."""
    points = [
        EntryPoint("big-tuba", f"{__name__}:tuba", bridge.GROUP),
        EntryPoint("oboe", "package_that_is_missing.oboe:main [server,woodwind]", bridge.GROUP),
    ]
    monkeypatch.setattr(bridge, "entry_points", lambda group: points)

    def run(*words: str) -> tuple[object, str]:
        with pytest.raises(SystemExit) as left:
            bridge.bridges()(words)
        told = capsys.readouterr()
        return left.value.code, told.out + told.err

    return run


def test_a_bridge_gets_its_flags(reglue_bridge: Callable[..., tuple[object, str]]) -> None:
    HEARD.clear()
    assert reglue_bridge("big-tuba", "polka", "--loud", "3")[0] == 0
    assert HEARD == [("polka", 3)]


def test_help_has_a_line_for_each_bridge(
    reglue_bridge: Callable[..., tuple[object, str]],
) -> None:
    code, text = reglue_bridge("--help")
    assert code == 0
    assert "big-tuba" in text
    assert "Play a tune" in text
    assert "oboe" in text


def test_a_bridge_without_its_package_names_the_extras(
    reglue_bridge: Callable[..., tuple[object, str]],
) -> None:
    code, text = reglue_bridge("oboe", "polka", "--loud", "3")
    assert code == 2
    assert "package_that_is_missing" in text
    assert "'reglue[server,woodwind]'" in text


def test_an_unknown_bridge_is_a_wrong_usage(
    reglue_bridge: Callable[..., tuple[object, str]],
) -> None:
    code, text = reglue_bridge("tubba")
    assert code == 2
    assert "tubba" in text
