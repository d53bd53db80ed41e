"""Makes the agent or environment that a command line names.

A name is `file.py:Class`, `package.module:Class`, or an example agent's.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import importlib
import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from reglue.agents.agent import Policy
from reglue.agents.metaworld import MetaWorldAgent
from reglue.agents.model_agent import ModelAgent
from reglue.agents.torch_policy import TorchPolicy
from reglue.environments.environment_objects import adapted_suite
from reglue.error_message import suggestion
from reglue.errors import CannotLoad, raise_interrupt
from reglue.examples import EXAMPLES
from reglue.signatures import binds
from reglue.tools.keyword_words import keywords_of, parsed

_LOADING: ContextVar[tuple[str, ...]] = ContextVar("_LOADING", default=())
"""The users' files and modules that are being loaded, the outermost first."""


_USERS: set[str] = set()
"""The folders that loading put into `sys.path`, which is as global."""

_BY_NAME = {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}


def load(name: str, arguments: Mapping[str, str] | None = None) -> object:
    """Make the agent or environment called `name`.

    `arguments` are its constructor's keywords, as texts: see `parsed`. A class of `gymnasium.Env`
    becomes a suite. A function with one required parameter besides them is a Policy: that parameter
    is the observations. Any other function makes the agent or environment. A file's folder, or the
    working directory for a module, goes to the front of `sys.path`. Each call runs a file again.

    Raises CannotLoad if there is no such file, class or argument, or if the
    author's code fails to import (its own error is the cause).
    """
    make = find(EXAMPLES.get(name, name))
    keywords = keywords_of(arguments or {})
    if inspect.isfunction(make) and _is_policy(inspect.signature(make), keywords):
        return Policy(functools.partial(make, **keywords) if keywords else make)
    check_arguments(name, make, keywords)
    return adapted_suite(make, keywords) or make(**keywords)


def find(name: str) -> Callable[..., Any]:
    """The class or function called `file.py:name` or `package.module:name`. Raises CannotLoad."""
    target, _, attribute = name.rpartition(":")
    if not target or not attribute:
        raise CannotLoad(without_class(name))
    module = _load_file(target) if _is_file(target) else _load_module(target)
    if hasattr(module, "__path__") and getattr(module, "__file__", "") is None:
        raise CannotLoad(got=f"{name}: {target} is a folder", wanted="a Python module or package")
    return _find(module, attribute)


def check_arguments(name: str, make: Callable[..., object], keywords: Mapping[str, Any]) -> None:
    """Raise CannotLoad if `make`, which is called `name`, does not take these keywords."""
    try:
        signature = inspect.signature(make)
    except ValueError:  # some C functions have no signature: the call itself raises
        return
    try:
        signature.bind(**keywords)
    except TypeError as error:
        named = {key: each for key, each in signature.parameters.items() if each.kind in _BY_NAME}
        takes = ", ".join(str(each.replace(annotation=each.empty)) for each in named.values())
        what, hint = str(error), f"it takes {takes or 'no arguments'}"
        if unknown := [each for each in keywords if each not in named]:
            what = f"unknown argument {unknown[0]!r}"
            near = suggestion(unknown[0], named)
            hint = near if near.startswith("did") else hint
        raise CannotLoad(f"{name}: {what}; {hint}") from None


def agent_name(agent: object) -> str:
    """The name in reports: a function's, a model's or a Meta-World object's class, else its own."""
    if type(agent) is Policy:
        agent = agent.function
    if isinstance(agent, MetaWorldAgent):
        agent = agent.inner
    if isinstance(agent, ModelAgent):
        agent = agent.model
    if isinstance(agent, TorchPolicy):
        agent = agent.module
    while isinstance(agent, functools.partial):
        agent = agent.func
    if inspect.ismethod(agent):  # such as model.predict
        agent = agent.__self__
    return getattr(agent, "__name__", type(agent).__name__)


def checkpoint_sha256(arguments: Mapping[str, str]) -> str | None:
    """SHA-256, in hex, of the file that the argument `checkpoint` names.

    None if there is no such argument. Raises CannotLoad if there is no such file.
    """
    if "checkpoint" not in arguments:
        return None
    path = Path(str(parsed("checkpoint", arguments["checkpoint"])))
    if not _is_there(path):
        raise CannotLoad(got=f"checkpoint={path}", wanted=f"a file; {_near_files(path)}")
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_policy(signature: inspect.Signature, keywords: Mapping[str, Any]) -> bool:
    """Whether a function wants one argument besides its keywords."""
    return not binds(signature, **keywords) and binds(signature, None, **keywords)


def check_guarded(what: str) -> None:
    """Raise CannotLoad if a file or module calls this while Reglue loads it.

    Every process that loads it would begin `what` again.
    """
    if loading := _LOADING.get():
        raise CannotLoad(
            f"{loading[-1]} begins {what} while Reglue loads it for what it defines: put what it "
            'does as a program below `if __name__ == "__main__":`'
        )


def without_class(name: str) -> str:
    """The message for a name that has no class and is no example."""
    path = Path(name.removesuffix(":"))
    if path.suffix == ".py" and not _is_there(path):
        return f"there is no file {path}; {_near_files(path, '.py')}; write file.py:Class"
    if path.suffix == ".py":
        names = _names(path)
        listing = f"; it has {', '.join(names)}" if names else ""
        return f"{name} is a file: write {path}:Class or {path}:function{listing}"
    return (
        f"no example agent is called {name!r} ({suggestion(name, EXAMPLES)}); "
        "write an agent or environment of your own as file.py:Class or package.module:Class"
    )


def _names(path: Path) -> list[str]:
    """The classes and functions in a file, which is not run; none if it cannot be read."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return []
    return [node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)]


def _is_file(target: str) -> bool:
    return target.endswith(".py") or "/" in target or "\\" in target


def _is_there(path: Path) -> bool:
    return os.path.isfile(path)  # noqa: PTH113 - `Path.is_file` raises for a name that is too long


def _load_file(target: str) -> ModuleType:
    path = Path(target).resolve()
    if not _is_there(path):
        raise CannotLoad(f"there is no file {target}; {_near_files(path, '.py')}")
    # A name of its own: a file called random.py must not become `random`.
    digest = hashlib.sha256(str(path).encode()).hexdigest()[:8]
    spec = importlib.util.spec_from_file_location(f"reglue_agent_{path.stem}_{digest}", path)
    if spec is None or spec.loader is None:
        raise CannotLoad(f"{target} is not a Python file")
    _make_importable(path.parent)
    module = importlib.util.module_from_spec(spec)
    with _while_loading(str(path), target):
        sys.modules[spec.name] = module  # before it runs: dataclasses look their module up
        try:
            spec.loader.exec_module(module)
        except Exception:
            del sys.modules[spec.name]
            raise
    return module


def _load_module(target: str) -> ModuleType:
    if not target.startswith("reglue."):
        _make_importable(Path.cwd())
    with _while_loading(target, target):
        try:
            return importlib.import_module(target)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{target}.".startswith(f"{error.name}."):
                raise
            raise CannotLoad(
                f"there is no module {error.name} in {Path.cwd()} or installed; "
                f"for a file write {target.replace('.', '/')}.py:Class"
            ) from None


@contextlib.contextmanager
def _while_loading(code: str, target: str) -> Iterator[None]:
    """Turns the author's errors into CannotLoad; also raises it for code that loads itself."""
    if code in _LOADING.get():
        check_guarded("to load itself")
    token = _LOADING.set((*_LOADING.get(), code))
    try:
        yield
    except CannotLoad:
        raise
    except (Exception, SystemExit) as error:  # a file may end with sys.exit(main())
        if isinstance(error, Exception):
            raise_interrupt(error)
        what = f"{type(error).__name__}: {error}{called_like_libraries(error)}"
        raise CannotLoad(f"{target} could not be loaded: {what}") from error
    finally:
        _LOADING.reset(token)


def called_like_libraries(error: BaseException) -> str:
    """A hint if the user's own files are imported in place of libraries; else ""."""
    named = re.findall(r"module '(\w+)", str(error))  # also those that are gone, as they failed
    loaded = {name: getattr(each, "__file__", None) for name, each in [*sys.modules.items()]}
    users = [each for each in sys.path if each in _USERS]
    others = [each for each in sys.path if each not in _USERS]
    said = []
    for name in sorted({*named, *loaded} - sys.stdlib_module_names):
        mine = None if "." in name else PathFinder.find_spec(name, users)
        if mine is None or not mine.origin or loaded.get(name, mine.origin) != mine.origin:
            continue
        if PathFinder.find_spec(name, others) is not None:
            said.append(f"; {name} is {mine.origin}, not the library: rename it")
    return "".join(said)


def _make_importable(folder: Path) -> None:
    """Put `folder` first in `sys.path`, but let no file in it replace a standard module."""
    if str(folder) in sys.path:
        sys.path.remove(str(folder))
    for name in sorted({path.stem for path in folder.glob("*.py")} & sys.stdlib_module_names):
        with contextlib.suppress(ImportError):  # turtle, if there is no Tk
            importlib.import_module(name)
    sys.path.insert(0, str(folder))
    _USERS.add(str(folder))


def _find(module: ModuleType, attribute: str) -> Callable[..., Any]:
    target = getattr(module, attribute, None)
    if not callable(target):
        names = [
            name
            for name, value in vars(module).items()
            if isinstance(value, type) or getattr(value, "__module__", "") == module.__name__
        ]
        where = getattr(module, "__file__", None) or module.__name__
        raise CannotLoad(
            f"there is no class or function {attribute} in {where}; {suggestion(attribute, names)}"
        )
    make: Callable[..., Any] = target
    return make


def _near_files(path: Path, ending: str = "") -> str:
    """Advice in place of the file `path`: the files in its folder with that ending."""
    if not path.parent.is_dir():
        return f"there is no folder {path.parent} either"
    files = [file for file in path.parent.iterdir() if file.is_file()]
    names = [file.name for file in files if file.name.endswith(ending)]
    none = f"there are no {ending} files in its folder".replace("  ", " ")
    return suggestion(path.name, names) if names else none
