"""The keywords of `evaluate` are the settings, with their types.

`python -m tests.reglue_bench.test_options` writes them anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import JsonValue

from reglue_bench import options
from reglue_bench.settings import AgentSettings, SandboxSettings, Settings

FILE = Path(options.__file__)

ARGUMENTS = {"benchmark", "agent", "hidden", "poisons"}
"""Arguments of their own, and what only a bake-off and a rehearsal say."""

ALSO_ACCEPTED = {"camera_size": "Sequence[int] | "}
"""Types that a setting becomes what it is from."""

OF_STARTED_AGENTS = {
    *AgentSettings.model_fields.keys() - {"label", "training_seed"},
    *SandboxSettings.model_fields,
    *("connect_timeout", "token", "directory"),
}

SOURCE = '''\
"""The settings as keywords with types, of `evaluate` and of `Evaluator`.

Generated from `settings.Settings`, which says what each means: do not edit. A mapping may stand
for a table, any sequence for a list, and a string for a path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypedDict


class Options(TypedDict, total=False):
    """Keywords of every evaluation. None leaves the choice to the benchmark."""

%s

class AgentOptions(Options, total=False):
    """Keywords for agents that Reglue starts or waits for."""

%s'''


def source() -> str:
    """The text that the file must have."""
    names = [name for name in Settings.model_fields if name not in ARGUMENTS]
    started = [name for name in names if name in OF_STARTED_AGENTS]
    return SOURCE % (keywords(each for each in names if each not in started), keywords(started))


def keywords(names: Iterable[str]) -> str:
    hints = get_type_hints(Settings)
    types = {name: ALSO_ACCEPTED.get(name, "") + accepted(hints[name]) for name in names}
    return "".join(f"    {name}: {written}\n" for name, written in types.items())


def accepted(hint: Any) -> str:
    """The type of what a caller may give for a setting, as it is written."""
    origin, of = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " | ".join(map(accepted, of))
    if origin is Literal:
        return f"Literal[{', '.join(map(json.dumps, of))}]"
    if origin is dict:
        return f"Mapping[str, {'object' if of[1] is JsonValue else accepted(of[1])}]"
    if origin is list:
        return f"Sequence[{accepted(of[0])}]"
    return {Path: "str | Path", NoneType: "None"}.get(hint) or str(hint.__name__)


def test_each_setting_is_a_keyword_of_its_type() -> None:
    assert FILE.read_text("utf-8") == source()


if __name__ == "__main__":
    FILE.write_text(source(), "utf-8")
