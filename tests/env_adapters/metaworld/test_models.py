"""A model from the cache is the model that MuJoCo compiles."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from env_adapters.disk_cache import DiskCache
from env_adapters.metaworld import shared_env
from env_adapters.metaworld.library import fingerprint, metaworld, mujoco
from env_adapters.metaworld.resets import Resets, SettledStates
from env_adapters.metaworld.shared_env import Models
from env_adapters.mujoco import IntegrationState

TASK = "window-close-v3"  # shares its model with window-open-v3


def content(env: Any) -> bytes:
    buffer = np.zeros(mujoco().mj_sizeModel(env.model), np.uint8)
    mujoco().mj_saveModel(env.model, None, buffer)
    return buffer.tobytes()


@pytest.fixture(scope="module")
def compiled(plain: Callable[[str], Any]) -> bytes:
    return content(metaworld().ALL_V3_ENVIRONMENTS[TASK](reward_function_version="v2"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a cache that has the model of TASK."""
    folder = tmp_path_factory.mktemp("models")
    Models(DiskCache(folder)).environment("window-open-v3")
    return folder


def test_a_kept_model_equals_the_compiled_one(folder: Path, compiled: bytes) -> None:
    before = DiskCache(folder).usage()
    env, _ = Models(DiskCache(folder)).environment(TASK)
    assert content(env) == compiled
    assert DiskCache(folder).usage() == before


def test_upstreams_class_is_what_plays(folder: Path) -> None:
    env, _ = Models(DiskCache(folder)).environment(TASK)
    original = metaworld().ALL_V3_ENVIRONMENTS[TASK]
    assert (type(env), env.task_name) == (original, original.__name__)


def test_without_a_cache_models_are_compiled(compiled: bytes) -> None:
    assert content(Models(DiskCache(None)).environment(TASK)[0]) == compiled


def test_a_damaged_model_is_compiled_and_kept_anew(tmp_path: Path, compiled: bytes) -> None:
    Models(DiskCache(tmp_path)).environment(TASK)
    (path,) = tmp_path.glob("*.file")
    path.write_bytes(path.read_bytes()[:-100])
    assert content(Models(DiskCache(tmp_path)).environment(TASK)[0]) == compiled
    assert path.stat().st_size == len(compiled)


def test_another_version_compiles_its_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = DiskCache(folder).usage().entries
    monkeypatch.setattr(shared_env, "fingerprint", lambda: "of other versions")
    Models(DiskCache(folder)).environment(TASK)
    assert DiskCache(folder).usage().entries == before + 1


def test_a_changed_file_of_metaworld_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "__init__.py").touch()
    monkeypatch.setattr(metaworld(), "__file__", str(tmp_path / "__init__.py"))
    marks = []
    for text in ("", "x = 1"):
        (tmp_path / "env.xml").write_text(text)
        marks.append(fingerprint.__wrapped__())
    assert marks[0] != marks[1]


@pytest.mark.parametrize("task", ["faucet-open-v3", "plate-slide-side-v3"])
def test_who_comes_later_finds_the_model_as_compiled(
    task: str, draw_two: Any, folder: Path
) -> None:
    """Goals of these tasks are written into the model."""
    models = Models(DiskCache(folder))
    first, shared = models.environment(task)
    as_compiled = content(first)
    shared.put(places := shared.as_read())
    resets = Resets(first, IntegrationState(first), SettledStates(DiskCache(None)))
    resets.start(draw_two(task)[0], goal_visible=True)
    left = content(first)
    assert left != as_compiled
    later, _ = models.environment(task)
    assert content(later) == as_compiled
    shared.put(places)
    assert content(first) == left
