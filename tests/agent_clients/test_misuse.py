"""Wrong uses of a benchmark program's routines in each language.

The program `misuse` of a client is the table of its wrong uses and of their errors. A use has the
same name in all of them, and the same place.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.agent_clients.client_programs import (
    JULIA,
    LANGUAGES,
    ROOT,
    built,
    peers,
    run,
    typescript,
)
from tests.glue_server.hubs import a_hub

PATIENCE_S = 30.0

pytestmark = pytest.mark.timeout(900)  # the first test compiles clients


def misuse(language: str) -> list[str]:
    """The command of that language's program."""
    match language:
        case "python":
            return [sys.executable, str(Path(__file__).with_name("misuse.py"))]
        case "julia":
            return [*JULIA, str(ROOT / "agent_clients/julia/test/misuse.jl")]
        case "typescript":
            return ["node", str(typescript("tests/misuse.js"))]
        case _:
            return [str(built(language, "misuse", "tests/misuse")), "experiment"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_wrong_uses_give_their_errors_and_change_nothing(
    language: str, libreglue: Mapping[str, str]
) -> None:
    program = misuse(language)
    with ThreadPoolExecutor(2) as pool, a_hub() as (server, _):
        left = peers(pool, server)
        where = {"REGLUE_ADDRESS": server.address, "REGLUE_TOKEN": server.tokens["experiment"]}
        run(*program, environment={**where, **libreglue})
        for each in left:
            assert each.result(PATIENCE_S) == "the run is over: the experiment has left"
