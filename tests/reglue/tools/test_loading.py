"""Agents by file, by module and by the name of an example."""

from __future__ import annotations

import hashlib
import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reglue.agents.adaptation import agent_of
from reglue.agents.agent import Policy
from reglue.errors import CannotLoad
from reglue.examples import EXAMPLES
from reglue.examples.random_agent import RandomAgent
from reglue.tools import loading
from reglue.tools.loading import agent_name, checkpoint_sha256
from tests.error_facts import assert_named, raises

Write = Callable[[str, str], Path]

KEEPING = """
class Keeping:
    def __init__(self, *, rate=1.0, checkpoint=None):
        self.rate, self.checkpoint = rate, checkpoint
"""


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Writes a file of code; what loading it does to the interpreter is undone."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)

    def write(name: str, code: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(code, encoding="utf-8")
        importlib.invalidate_caches()
        return path

    yield write
    for name, module in [*sys.modules.items()]:
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


def load(name: str, **arguments: str) -> Any:
    return loading.load(name, arguments)


# By name.


def test_an_example_is_loaded_by_its_name() -> None:
    assert isinstance(load("random"), RandomAgent)


def test_a_function_of_observations_is_a_policy(write: Write) -> None:
    write("lean.py", "def lean(observations):\n    return observations > 0\n")
    policy = load("lean.py:lean")
    assert isinstance(policy, Policy)
    assert np.array_equal(np.asarray(policy.function(np.array([-1, 1]))), [False, True])
    assert agent_name(policy) == "lean"


@pytest.mark.parametrize("head", ["o", "obs, /", "observation, gain=1", "batch, *, gain=1"])
def test_any_function_of_one_required_parameter_is_a_policy(write: Write, head: str) -> None:
    write("lean.py", f"def lean({head}):\n    return 7\n")
    assert load("lean.py:lean").function(np.zeros(1)) == 7


def test_the_arguments_of_a_policy_are_keywords_of_its_function(write: Write) -> None:
    write("lean.py", "def lean(seen, gain, shift=0):\n    return gain * seen + shift\n")
    policy = load("lean.py:lean", gain="2", shift="1")
    assert policy.function(3) == 7
    assert agent_name(policy) == "lean"


@pytest.mark.parametrize(
    ("head", "arguments"), [("", {}), ("rate=1", {}), ("rate", {"rate": "1"}), ("*rates", {})]
)
def test_a_function_that_wants_nothing_more_makes_the_agent(
    write: Write, head: str, arguments: dict[str, str]
) -> None:
    write("mine.py", f"def make({head}):\n    return {{}}\n")
    assert load("mine.py:make", **arguments) == {}


def test_a_function_without_its_argument_is_told_what_it_takes(write: Write) -> None:
    write("mine.py", "def make(checkpoint):\n    return {}\n")
    with raises(CannotLoad, "mine.py:make", "did you mean checkpoint?", "'chekpoint'"):
        load("mine.py:make", chekpoint="1")


@pytest.mark.parametrize("name", ["mine.py:Mine", "mine:Mine"])
def test_a_script_that_uses_itself_is_told_to_guard_what_it_does(write: Write, name: str) -> None:
    code = "from reglue.tools.loading import load\nclass Mine: ...\nload('NAME')\n"
    path = write("mine.py", code.replace("NAME", name))
    with raises(CannotLoad, "__main__"):
        load(name)
    guarded = code.replace("load('", "if __name__ == '__main__':\n    load('")
    path.write_text(guarded.replace("NAME", name), encoding="utf-8")
    importlib.invalidate_caches()
    sys.modules.pop("mine", None)
    assert type(load(name)).__name__ == "Mine"


def test_the_examples_are_listed() -> None:
    assert sorted(EXAMPLES) == [
        *("constant", "expert", "q_learning", "random", "reach_adapt", "sarsa")
    ]


def test_an_unknown_example_lists_the_near_ones() -> None:
    with raises(CannotLoad, "'randm'", "random", "file.py:Class"):
        load("randm")


def test_a_file_without_a_class_is_told_how_to_name_one() -> None:
    with raises(CannotLoad, "file.py:Class"):
        load("agent.py:")


def test_a_file_without_a_class_is_told_which_it_has_and_is_not_run(write: Write) -> None:
    write("mine.py", f"{KEEPING}\nclass Other: ...\nraise RuntimeError")
    with raises(CannotLoad, "mine.py:Class", "mine.py:function", "Keeping, Other"):
        load("mine.py")


@pytest.mark.parametrize("code", ["def (:", "# none", "\0"])
def test_a_file_whose_classes_cannot_be_told_is_told_how_to_name_one(
    write: Write, code: str
) -> None:
    write("mine.py", code)
    with raises(CannotLoad, "mine.py:Class", "mine.py:function"):
        load("mine.py")


def test_an_agent_is_loaded_from_a_file(write: Write) -> None:
    assert load(f"{write('mine.py', KEEPING)}:Keeping").rate == 1.0


def test_an_agent_is_loaded_from_a_file_with_a_relative_name(write: Write) -> None:
    path = write("folder/mine.py", KEEPING)
    assert load("folder/mine.py:Keeping").rate == 1.0
    assert str(path.parent) in sys.path


def test_an_agent_is_loaded_from_a_package_in_the_working_directory(write: Write) -> None:
    write("reglue_test_package/__init__.py", "")
    write("reglue_test_package/mine.py", KEEPING)
    assert load("reglue_test_package.mine:Keeping").rate == 1.0


def test_a_file_may_hold_dataclasses_with_postponed_annotations(write: Write) -> None:
    path = write(
        "mine.py",
        "from __future__ import annotations\n"
        "from dataclasses import dataclass, KW_ONLY\n"
        "from typing import ClassVar\n\n"
        "@dataclass\n"
        "class Mine:\n"
        "    count: ClassVar[int] = 3\n"
        "    _: KW_ONLY\n"
        "    rate: float = 0.5\n",
    )
    assert load(f"{path}:Mine").rate == 0.5


def test_a_file_imports_its_siblings(write: Write) -> None:
    write("reglue_test_sibling.py", "RATE = 0.25\n")
    path = write("mine.py", "from reglue_test_sibling import RATE\nclass Mine:\n    rate = RATE\n")
    assert load(f"{path}:Mine").rate == 0.25


def test_a_file_may_bear_the_name_of_a_standard_module(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    path = write("colorsys.py", KEEPING)
    assert load(f"{path}:Keeping").rate == 1.0
    assert hasattr(importlib.import_module("colorsys"), "rgb_to_hsv")


def test_files_of_the_same_name_do_not_mix(write: Write) -> None:
    one, two = write("one/mine.py", KEEPING), write("two/mine.py", KEEPING)
    first, second = load(f"{one}:Keeping"), load(f"{two}:Keeping")
    assert sys.modules[type(first).__module__].__file__ == str(one)
    assert sys.modules[type(second).__module__].__file__ == str(two)


def test_a_changed_file_is_loaded_as_it_is_now(write: Write) -> None:
    load(f"{write('mine.py', KEEPING)}:Keeping")
    path = write("mine.py", KEEPING.replace("rate=1.0", "rate=22.0"))
    assert load(f"{path}:Keeping").rate == 22.0


# Arguments.


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("0.5", 0.5),
        ("true", True),
        ("null", None),
        ("[1, 2]", [1, 2]),
        ('"3"', "3"),
        ("w.npz", "w.npz"),
        ("", ""),
        ("True", True),
        ("False", False),
        ("None", None),
        ("false", False),
        ('"False"', "False"),
        ("FALSE", "FALSE"),
        ("1e-3", 0.001),
        ("1.2.3", "1.2.3"),
        ("1,000", "1,000"),
        ("nano", "nano"),
    ],
)
def test_an_argument_is_json_where_it_reads_as_json(write: Write, text: str, value: object) -> None:
    got = load(f"{write('mine.py', KEEPING)}:Keeping", rate=text).rate
    assert (got, type(got)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1_000", "rate=1000"),
        ("0x10", "rate=16"),
        ("0b11", "rate=3"),
        ("007", "rate=7"),
        ("+5", "rate=5"),
        (".5", "rate=0.5"),
        ("5.", "rate=5.0"),
        ("1_0.5", "rate=10.5"),
        ("nan", "a finite number"),
        ("NaN", "a finite number"),
        ("-Infinity", "a finite number"),
        ("inf", "a finite number"),
        ("1e400", "a finite number"),
    ],
)
def test_what_looks_like_a_number_and_is_none_in_json_is_refused(
    write: Write, text: str, number: str
) -> None:
    """It says both ways to write it."""
    with pytest.raises(CannotLoad) as error:
        load(f"{write('mine.py', KEEPING)}:Keeping", rate=text)
    assert (error.value.got, error.value.wanted) == (
        text,
        f"""{number}, or 'rate="{text}"' for the text""",
    )


def test_an_unknown_argument_names_those_that_there_are(write: Write) -> None:
    path = write("mine.py", KEEPING)
    with raises(CannotLoad, "it takes rate=1.0, checkpoint=None", "'word'"):
        load(f"{path}:Keeping", word="1")


def test_a_misspelt_argument_names_the_near_one_also_where_it_is_needed(write: Write) -> None:
    path = write("mine.py", "class Mine:\n    def __init__(self, gain):\n        pass\n")
    with raises(CannotLoad, "unknown argument 'gian'", "did you mean gain?"):
        load(f"{path}:Mine", gian="3")


def test_a_constructors_own_type_error_is_not_taken_for_a_wrong_argument(write: Write) -> None:
    path = write("mine.py", "class Mine:\n    def __init__(self):\n        len(3)\n")
    with raises(TypeError, "len()"):
        load(f"{path}:Mine")


@pytest.mark.parametrize(
    ("agent", "code"),
    [
        ("torch.py", "import torch\nclass Mine(torch.nn.Module):\n    pass\n"),
        ("mine.py", "import metaworld\nmetaworld.ML1\n"),
    ],
)
def test_a_file_that_is_called_like_a_library_is_named(
    write: Write, monkeypatch: pytest.MonkeyPatch, agent: str, code: str
) -> None:
    for name in [each for each in sys.modules if each.partition(".")[0] in {"torch", "metaworld"}]:
        monkeypatch.delitem(sys.modules, name)
    write("metaworld.py", "")
    path = write(agent, code)
    with pytest.raises(CannotLoad) as error:
        load(f"{path}:Mine")
    library = path.with_name("metaworld.py") if agent == "mine.py" else path
    assert f"{library.stem} is {library}, not the library: rename it" in str(error.value)


@pytest.mark.parametrize("ending", [".py:Agent", ".py"])
def test_a_name_that_is_too_long_for_a_path_is_no_file(ending: str) -> None:
    with raises(CannotLoad, "there is no file"):
        loading.load("x" * 300 + ending, {})
    with raises(CannotLoad, "a file"):
        checkpoint_sha256({"checkpoint": "x" * 300})


def test_a_file_that_exits_while_it_is_loaded_does_not_end_who_loads_it(write: Write) -> None:
    path = write("script.py", "import sys\n\nMine = print\nsys.exit(3)\n")
    with raises(CannotLoad, path, "SystemExit: 3"):
        load(f"{path}:Mine")


def test_a_file_called_like_a_library_is_no_matter_where_it_does_not_fail(write: Write) -> None:
    path = write("torch.py", "raise ValueError('coffee')\n")
    with pytest.raises(CannotLoad) as error:
        load(f"{path}:Mine")
    assert "library" not in str(error.value)


# What is not there.


def test_a_missing_file_lists_the_near_ones(write: Write) -> None:
    write("my_agent.py", KEEPING)
    with raises(CannotLoad, "my_agnt.py", "my_agent.py"):
        load("my_agnt.py:Keeping")


def test_files_that_hold_no_code_are_not_listed(write: Write) -> None:
    write("my_agent.py", KEEPING)
    write("my_agnt.txt", "")
    write(".secret", "")
    with pytest.raises(CannotLoad) as error:
        load("my_agnt.py:Keeping")
    assert_named(["my_agent.py"], str(error.value))
    assert ".txt" not in str(error.value)
    with pytest.raises(CannotLoad) as error:
        load("xyz.py:Keeping")
    assert str(error.value).endswith("known: my_agent.py")


def test_a_missing_folder_is_said_to_be_missing(write: Write) -> None:
    with raises(CannotLoad, "nowhere/mine.py", "no folder"):
        load("nowhere/mine.py:Keeping")


def test_a_missing_file_in_an_empty_folder_has_no_near_ones(tmp_path: Path) -> None:
    with raises(CannotLoad, tmp_path / "mine.py", "no .py files"):
        load(f"{tmp_path / 'mine.py'}:Keeping")


def test_a_missing_class_lists_the_near_ones(write: Write) -> None:
    path = write("mine.py", KEEPING)
    with raises(CannotLoad, "Keping", "Keeping", path):
        load(f"{path}:Keping")


def test_a_missing_function_lists_the_near_ones(write: Write) -> None:
    path = write(
        "mine.py", "from math import cos\n\n\ndef lean(observations):\n    return observations\n"
    )
    with raises(CannotLoad, "leen", "lean", path):
        load(f"{path}:leen")


def test_what_cannot_be_called_is_no_class(write: Write) -> None:
    path = write("mine.py", "rate = 3\n")
    with raises(CannotLoad, "rate", "none", path):
        load(f"{path}:rate")


def test_a_missing_module_says_how_to_name_a_file(write: Write) -> None:
    with raises(CannotLoad, "nowhere", "nowhere/mine.py:Class"):
        load("nowhere.mine:Keeping")


def test_a_module_that_lacks_another_shows_that_as_the_cause(write: Write) -> None:
    write("reglue_test_lacking.py", "import nowhere_to_be_found\n")
    with raises(CannotLoad, "reglue_test_lacking") as caught:
        load("reglue_test_lacking:Mine")
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


@pytest.mark.parametrize(
    ("code", "cause"), [("def (:\n", SyntaxError), ("import nowhere_to_be_found\n", ImportError)]
)
def test_a_file_that_fails_shows_its_own_error_as_the_cause(
    write: Write, code: str, cause: type[Exception]
) -> None:
    path = write("mine.py", code)
    with raises(CannotLoad, "mine.py") as caught:
        load(f"{path}:Mine")
    assert isinstance(caught.value.__cause__, cause)


def test_a_file_that_fails_leaves_no_module_behind(write: Write) -> None:
    path = write("mine.py", "raise RuntimeError('no')\n")
    before = set(sys.modules)
    with raises(CannotLoad, "RuntimeError: no"):
        load(f"{path}:Mine")
    assert set(sys.modules) == before


# What reports say.


def test_an_agent_is_called_by_its_class() -> None:
    assert agent_name(RandomAgent()) == "RandomAgent"


def test_a_policy_is_called_by_its_function() -> None:
    assert agent_name(Policy(sorted)) == "sorted"


def test_a_wrapped_object_is_called_by_its_own_class(write: Write) -> None:
    path = write(
        "mine.py",
        "class Mine:\n"
        "    def eval_action(self, observations): ...\n"
        "    def reset(self, env_mask): ...\n",
    )
    assert agent_name(agent_of(load(f"{path}:Mine"))) == "Mine"


@pytest.mark.parametrize("quote", ["", '"'])
def test_a_checkpoint_is_known_by_its_sha256(write: Write, quote: str) -> None:
    path = write("w.npz", "weights")
    expected = hashlib.sha256(b"weights").hexdigest()
    assert checkpoint_sha256({"checkpoint": f"{quote}{path}{quote}"}) == expected


def test_without_a_checkpoint_there_is_no_sha256() -> None:
    assert checkpoint_sha256({"rate": "1"}) is None


def test_a_missing_checkpoint_lists_the_near_files(write: Write) -> None:
    write("weights.npz", "")
    with raises(CannotLoad, "weight.npz", "weights.npz"):
        checkpoint_sha256({"checkpoint": "weight.npz"})
