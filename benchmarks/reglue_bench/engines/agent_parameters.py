"""Digests of the parts with which an agent object computes, the same in every process.

Of a model of Stable-Baselines3 or PyTorch that is its `state_dict`; of a function its code, and the
values that it refers to; of any other object its attributes, its class's, and the code of its
methods. What is neither an array nor a JSON value, or made of these, has no digest. No library is
imported: who has an object of it has it.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import inspect
import json
import sys
import sysconfig
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import (
    BuiltinFunctionType,
    CodeType,
    EllipsisType,
    FunctionType,
    MethodType,
    ModuleType,
)
from typing import Any, Self

import numpy as np

from reglue.agents.agent import Agent, Policy
from reglue.agents.metaworld import MetaWorldAgent
from reglue.agents.model_agent import ModelAgent, is_model

_LIBRARIES = tuple({sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib")})


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of an agent object, as far as they have digests."""

    digests: Mapping[str, str]  # by name, hexadecimal
    is_whole: bool  # all have one, and none has changed while the agent played

    def without_changed(self, now: Parameters) -> Parameters:
        """The parameters that are the same now: others are no parameters, but the agent's state."""
        same = {name: each for name, each in self.digests.items() if now.digests.get(name) == each}
        return Parameters(same, self.is_whole and same == self.digests)

    def differences(self, others: Parameters) -> list[str]:
        """The names of those that the others have, too, and that are not the same there."""
        both = self.digests.keys() & others.digests.keys()
        return sorted(name for name in both if self.digests[name] != others.digests[name])

    def to_json(self) -> str:
        """The parameters as text; `from_json` reads it."""
        return json.dumps({"whole": self.is_whole, "digests": dict(self.digests)}, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The inverse of `to_json`."""
        known = json.loads(text)
        return cls(known["digests"], known["whole"])


def parameters_of(agent: object) -> Parameters:
    """The parameters of an agent as `evaluate` takes it. It is not changed."""
    digests, is_whole = dict[str, str](), True
    try:
        parts = _parts(agent)
    except _Unknown:
        return Parameters({}, is_whole=False)
    for name, value in parts.items():
        digest = hashlib.blake2b(digest_size=16)
        try:
            _add(digest.update, value)
        except (_Unknown, RecursionError):
            is_whole = False
        else:
            digests[name] = digest.hexdigest()
    return Parameters(digests, is_whole)


class _Unknown(Exception):
    """A value has no digest."""


def _parts(agent: Any) -> dict[str, object]:
    """The parts with which an agent computes, by name. Raises _Unknown."""
    if type(agent) is Policy:
        return _parts(agent.function)
    if isinstance(agent, MetaWorldAgent):
        return _parts(agent.inner)
    if isinstance(agent, ModelAgent):
        return _of_model(agent)
    if is_model(agent):
        return _of_model(ModelAgent(agent))
    if isinstance(agent, MethodType):
        if is_model(agent.__self__):
            return _of_model(ModelAgent(agent.__self__, deterministic=False))
        return {**_parts(agent.__self__), "its method": agent.__name__}
    if isinstance(agent, functools.partial):
        arguments = {f"argument {n}": each for n, each in enumerate(agent.args)}
        return {**_parts(agent.func), **arguments, **agent.keywords}
    if isinstance(agent, FunctionType):
        return _of_function(agent)
    return _of_object(agent)


def _of_model(agent: ModelAgent) -> dict[str, object]:
    model, policy = agent.model, getattr(agent.model, "policy", agent.model)
    find = getattr(model, "get_vec_normalize_env", lambda: None)
    normalizes = [find(), *vars(agent).values()]
    return {
        "its policy": policy if _has_state(policy) else _of_object(policy),
        "its normalization": [_statistics(each) for each in normalizes if hasattr(each, "obs_rms")],
        "deterministic": agent.deterministic,
    }


def _statistics(normalize: Any) -> list[object]:
    """The normalization of observations by a VecNormalize."""
    of = normalize.obs_rms
    each = of.values() if isinstance(of, Mapping) else [of]
    moments = [[one.mean, one.var] for one in each if one is not None]
    return [moments, normalize.clip_obs, normalize.epsilon, normalize.norm_obs]


def _of_object(agent: Any) -> dict[str, object]:
    """Its attributes, the code of its methods, and what these refer to. Raises _Unknown."""
    members = _members(type(agent))
    methods = [each for _, each in members if isinstance(each, FunctionType)]
    return {
        **{f"{name} that it uses": of for each in methods for name, of in _outside(each).items()},
        **{name: each for name, each in members if not isinstance(each, FunctionType)},
        **_attributes(agent),
        "its class": [each.__code__ for each in methods],
    }


def _members(cls: type) -> list[tuple[str, object]]:
    """Attributes of a class and of those above it, also functions in methods of any kind."""
    users = [each for each in reversed(cls.__mro__) if _is_users(each)]
    members = [
        (name, _function_in(of)) for each in users for name, of in sorted(vars(each).items())
    ]
    return [
        (name, each)
        for name, each in members
        if isinstance(each, FunctionType)
        or not (name.startswith(("__", "_abc_")) or inspect.isdatadescriptor(each))
    ]


def _is_users(cls: type) -> bool:
    """Whether a class is neither of a library nor of Reglue, whose versions are kept."""
    file = getattr(sys.modules.get(cls.__module__), "__file__", None) or ""
    is_of_reglue = cls.__module__.startswith("reglue.")
    return not (is_of_reglue or cls.__module__ == "builtins" or file.startswith(_LIBRARIES))


def _function_in(member: object) -> object:
    match member:
        case staticmethod() | classmethod():
            return member.__func__
        case property():
            return member.fget
        case functools.cached_property():
            return member.func
    return member


def _attributes(agent: Any) -> dict[str, object]:
    """Without what Reglue sets in an Agent, and of a module of PyTorch what it keeps itself.

    Raises _Unknown for what is not written in Python.
    """
    slots = [vars(cls)["__slots__"] for cls in type(agent).__mro__ if "__slots__" in vars(cls)]
    if not (slots or hasattr(agent, "__dict__")):
        raise _Unknown
    names = [name for each in slots for name in ([each] if isinstance(each, str) else each)]
    kept = {name: getattr(agent, name) for name in names if hasattr(agent, name)}
    kept |= getattr(agent, "__dict__", {})
    if isinstance(agent, Agent):
        return {name: kept[name] for name in kept.keys() - Agent.__annotations__.keys()}
    if not _has_state(agent):
        return kept
    own = {name: kept[name] for name in kept if name[0] != "_" and name != "training"}
    return {**own, "its state_dict": agent}


def _of_function(function: FunctionType) -> dict[str, object]:
    """Its code, and what it refers to outside of it. Of libraries the name: versions are kept."""
    if function.__code__.co_filename.startswith(_LIBRARIES):
        return {"its name": f"{function.__module__}.{function.__qualname__}"}
    return {
        "its code": function.__code__,
        "its defaults": [function.__defaults__, function.__kwdefaults__],
        **_outside(function),
    }


def _outside(function: FunctionType) -> dict[str, object]:
    """The objects outside of a function to which it refers, by name. Raises _Unknown.

    Nothing for functions of libraries, and for what they generate, as for a dataclass.
    """
    if function.__code__.co_filename.startswith((*_LIBRARIES, "<string>")):
        return {}
    try:
        nonlocals = inspect.getclosurevars(function).nonlocals
    except ValueError as error:  # a variable that is not set yet
        raise _Unknown from error
    names = _globals(function.__code__) & function.__globals__.keys()
    around = {name: function.__globals__[name] for name in names}
    return {name: each for name, each in around.items() if each is not function} | dict(nonlocals)


def _globals(code: CodeType) -> set[str]:
    """The names of what it refers to, without those of attributes; also those within it."""
    names = {each.argval for each in dis.get_instructions(code) if each.opname == "LOAD_GLOBAL"}
    return names.union(*(_globals(each) for each in code.co_consts if isinstance(each, CodeType)))


def _code(code: CodeType) -> list[object]:
    """Without its place in a file, which other lines move."""
    constants = [sorted(map(repr, c)) if isinstance(c, frozenset) else c for c in code.co_consts]
    return [code.co_code, list(code.co_names), constants]


def _has_state(value: object) -> bool:
    """Whether it is a module of PyTorch, or like one."""
    return not isinstance(value, type) and callable(getattr(value, "state_dict", None))


def _add(update: Callable[[bytes], None], value: Any) -> None:
    """Add a value to a digest. Raises _Unknown."""
    update(type(value).__name__.encode() + b":")
    match value:
        case np.ndarray() | np.generic() if not value.dtype.hasobject:
            update(f"{value.dtype.str}{value.shape}".encode())
            update(np.ascontiguousarray(value).tobytes())
        case bytes():
            update(value)
        case None | bool() | int() | float() | complex() | str() | EllipsisType():
            update(repr(value).encode(errors="surrogatepass"))
        case Mapping():
            pairs = sorted(value.items(), key=lambda pair: repr(pair[0]))
            _add_each(update, (each for pair in pairs for each in pair))
        case list() | tuple():
            if not _add_json(update, value):
                _add_each(update, value)
        case CodeType():
            _add_each(update, _code(value))
        case ModuleType() | type() | BuiltinFunctionType() | np.ufunc():
            update(f"{getattr(value, '__module__', '')}.{value.__name__}".encode())
        case FunctionType() | MethodType() | functools.partial() | ModelAgent():
            _add(update, _parts(value))
        case _:
            _add_object(update, value)


def _add_object(update: Callable[[bytes], None], value: Any) -> None:
    """Add an object of a library that may not be installed. Raises _Unknown for others."""
    if _has_state(value):
        members = _members(type(value))
        codes = [each.__code__ for _, each in members if isinstance(each, FunctionType)]
        _add_each(update, [codes, dict(value.state_dict())])
    elif is_model(value):
        _add(update, _parts(value))
    else:
        _add_tensor(update, value)


def _add_each(update: Callable[[bytes], None], values: Iterable[object]) -> None:
    for each in values:
        _add(update, each)
        update(b";")


def _add_json(update: Callable[[bytes], None], value: Any) -> bool:
    """Add a long list of numbers quickly; whether it is one of JSON values."""
    try:
        update(json.dumps(value, sort_keys=True).encode())
    except (TypeError, ValueError):
        return False
    return True


def _add_tensor(update: Callable[[bytes], None], value: Any) -> None:
    """Add a tensor of PyTorch: its dtype, shape and bytes. Raises _Unknown for others."""
    torch: Any = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.Tensor):
        raise _Unknown
    update(f"{value.dtype}{tuple(value.shape)}".encode())
    try:
        flat = value.detach().cpu().contiguous().reshape(-1)
        update(flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b"")
    except (RuntimeError, TypeError, NotImplementedError) as error:  # sparse, quantized
        raise _Unknown from error
