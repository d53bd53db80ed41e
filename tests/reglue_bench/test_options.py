"""The keywords of `evaluate` are the settings, with their types."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from pydantic import JsonValue

from reglue_bench.options import AgentOptions, Options
from reglue_bench.settings import AgentSettings, Settings

UNTYPED = {"benchmark", "agent", "hidden", "poisons"}
"""Arguments of their own, and what only a bake-off says."""


def loosened(hint: Any) -> Any:
    """What a caller may give, of what a setting holds."""
    origin, of = get_origin(hint), get_args(hint)
    if hint is Path:
        return str | Path
    if origin in (Union, types.UnionType):
        return Union[tuple(loosened(each) for each in of)]  # noqa: UP007 - made of many
    if origin is dict:
        return Mapping[str, object] if of[1] is JsonValue else Mapping[of[0], of[1]]  # type: ignore[valid-type]
    if origin is list:
        return Sequence[loosened(of[0])]  # type: ignore[misc]
    return hint


def test_each_setting_is_a_keyword_of_its_type() -> None:
    settings = {
        name: loosened(hint)
        for name, hint in get_type_hints(Settings).items()
        if name in Settings.model_fields and name not in UNTYPED
    }
    assert get_type_hints(AgentOptions) == settings


def test_an_evaluator_starts_no_agent() -> None:
    ours = get_type_hints(Options).keys()
    assert not ours & (AgentSettings.model_fields.keys() - {"label", "training_seed"})
