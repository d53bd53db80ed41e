"""The line to which a path leads: TOML by examples, JSON and written TOML by any table."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

from env_adapters.environment_configs.lines import line_of
from env_adapters.environment_configs.values import inside

TOML = '''\
# seed = 1, schedule = [
schedule = [
    ["car", 2],          # "named" below ]
    [{ pool = ["car", "fast.json"] }, 3],
    [{ repeat = [
         ["car", 1], [{ interpolate = ["car",
            "fast.json"] }, 2]] }, 2],
]
seed = 3
"quoted key" = 'a # b'
date = 1979-05-27T07:32:00Z
a.b.c = 1
text = """
seed = [
"""

[configs.car]
env = "gymnasium:MountainCar-v0"
kwargs = { goal_velocity = 0.0 }
[configs."my.car"]
env = "x"
[[tables]]
x = 1
[[tables]]
x = 2
[tables.sub]
y = 3
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("schedule", 2),
        ("schedule[0]", 3),
        ("schedule[1][0].pool[1]", 4),
        ("schedule[2][0].repeat[1][0].interpolate[1]", 7),
        ("seed", 9),
        ("quoted key", 10),
        ("a.b.c", 12),
        ("configs.car", 17),
        ("configs.car.kwargs.goal_velocity", 19),
        ("configs.my.car.env", 21),
        ("tables[0].x", 23),
        ("tables[1].x", 25),
        ("tables[1].sub.y", 27),
        ("configs.car.physics.gravity", 17),  # of what would hold it
        ("schedule[9][0].pool", 2),
        ("nothing", 1),
        ("", 1),
    ],
)
def test_a_line_of_toml(path: str, line: int) -> None:
    tomllib.loads(TOML)
    assert line_of(TOML, path) == line


def tables(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    words = st.text("ab:=[]{}#,'\"\\ .é", max_size=5)
    keys = st.from_regex(r"[a-z0-9_-]{1,4}", fullmatch=True)
    values = st.recursive(
        leaves | words,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
        max_leaves=9,
    )
    return st.dictionaries(keys, values, max_size=4)


LEAVES = st.integers(-9, 9) | st.booleans() | st.floats(-9, 9)


def paths(value: Any, path: str = "") -> list[str]:
    """Of all that is in it, in the order in which it is written."""
    if not isinstance(value, list | dict):
        return []
    return [
        each
        for key, inner in (value.items() if isinstance(value, dict) else enumerate(value))
        for each in (inside(path, key), *paths(inner, inside(path, key)))
    ]


@settings(max_examples=60)
@given(tables(LEAVES | st.none()))
def test_every_path_of_json_has_its_line(table: Any) -> None:
    text = json.dumps(table, indent=1)
    lines = text.split("\n")[1:]
    opened = [k for k, line in enumerate(lines, 2) if line.strip(" ,") not in ("]", "}")]
    assert [line_of(text, path) for path in paths(table)] == opened


@settings(max_examples=60)
@given(tables(LEAVES))
def test_every_path_of_toml_is_found(table: Any) -> None:
    text = tomli_w.dumps(table)
    for path in paths(table):
        last = path.rpartition(".")[2].partition("[")[0]
        assert last in text.split("\n")[line_of(text, path) - 1] or path.endswith("]")
