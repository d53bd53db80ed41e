"""Suites go by names."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from env_adapters import suites
from env_adapters.named_objects import Registry
from env_adapters.suite_names import Family
from env_adapters.suites import EXAMPLES, FAMILIES, is_known, suite_name
from reglue.errors import BadArgument, CannotLoad, UnknownName
from tests.error_facts import raises
from tests.packages import install_family


@pytest.mark.parametrize("name", [*EXAMPLES, "gymnasium:CartPole-v1", "arcade:pong", "MT10"])
def test_a_known_name_is_a_suite(name: str) -> None:
    assert is_known(name)
    assert suite_name(name).build().variants


@pytest.mark.parametrize("name", ["MLab.py:World", "MThing:World", "my_env.py:World", "MTen"])
def test_other_names_are_nobodys(name: str) -> None:
    assert not is_known(name)


def test_a_name_with_a_class_is_a_factory() -> None:
    suite = suite_name("MLab.py:World", {"size": 8})
    assert (suite.factory, suite.config) == ("MLab.py:World", {"size": 8})


def test_arguments_are_added() -> None:
    suite = suite_name("arcade:pong", {"continuous": True})
    assert suite.config["config"] == "pong"
    assert suite.config["continuous"] is True


def test_a_task_set_has_goals_of_a_seed_and_a_split() -> None:
    test = suite_name("ML10", {"seed": 3})
    train = suite_name("ML10", {"seed": 3, "split": "train"})
    assert (len(test.config["goals"]), len(train.config["goals"])) == (5, 10)
    with raises(BadArgument, 0, got="seed 'x'"):
        suite_name("ML10", {"seed": "x"})


@pytest.mark.parametrize("name", ["pong", "MTen", "gridwrld", ""])
def test_an_unknown_name_is_refused_with_what_there_is(name: str) -> None:
    with raises(UnknownName, "environment", got=name):
        suite_name(name)


def test_a_file_without_a_class_is_refused_with_what_it_has(tmp_path: Path) -> None:
    file = tmp_path / "my_env.py"
    file.write_text("class Corner:\n    pass\n")
    with raises(CannotLoad, f"{file}:Class", "Corner"):
        suite_name(str(file))


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The family of another package."""
    install_family(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    fresh = Registry("environment family", "reglue.environment_families", FAMILIES.built_in, Family)
    monkeypatch.setattr(suites, "FAMILIES", fresh)
    yield
    sys.modules.pop("far_corridors", None)


@pytest.mark.usefixtures("installed")
def test_a_registered_family_makes_suites_by_name() -> None:
    suite = suite_name("corridors:3", {"horizon": 4})
    assert suite.config == {"solved": {"walk": [1, 1, 1]}, "horizon": 4}
    assert dict(suite.build().variants) == {"walk": 3}
    assert "corridors" in suites.FAMILIES.loaded()


@pytest.mark.usefixtures("installed")
def test_a_name_without_what_follows_its_prefix_is_refused() -> None:
    with raises(BadArgument, got="'corridors'", wanted="corridors:<variants>"):
        suite_name("corridors")


@pytest.mark.usefixtures("installed")
def test_no_package_takes_a_prefix_of_ours() -> None:
    assert suite_name("mountain-car").factory == "env_adapters.classic.mountain_car:MountainCar"


@pytest.mark.usefixtures("installed")
def test_a_family_that_cannot_be_loaded_says_so_and_hides_no_other() -> None:
    with raises(CannotLoad, "broken", "far_corridors:NOTHING", "AttributeError"):
        suite_name("broken:3")
    assert "broken" not in suites.FAMILIES.loaded()


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("reach-v3", "MT1:reach-v3"),
        ("metaworld:reach-v3", "MT1:reach-v3"),
        ("Meta-World:reach-v2", "MT1:reach-v3"),
        ("CartPole-v1", "gymnasium:CartPole-v1"),
        ("gym:CartPole-v1", "gymnasium:CartPole-v1"),
        ("Reglue/Point2D-v0", "gymnasium:Reglue/Point2D-v0"),
        (f"{__name__}:Mine-v0", f"gymnasium:{__name__}:Mine-v0"),
    ],
)
def test_a_suggestion_leads_to_an_environment(name: str, wanted: str) -> None:
    with raises(UnknownName, f"did you mean {wanted}", got=name):
        suite_name(name)


@pytest.mark.parametrize("name", ["CartPole-v7", "multiworld:Point2D-v0"])
def test_no_id_is_suggested_that_nobody_registers(name: str) -> None:
    with pytest.raises(UnknownName) as refused:
        suite_name(name)
    assert name not in str(refused.value).partition("; ")[2]
