"""Decides whether the code that a run's folder names may be imported and run here.

A folder may come from anywhere. Reglue's own environments, and ids of Gymnasium that import
nothing, are made of any plan. All else is somebody's code: it is run only where the folder's
run was begun by this user, on this machine, or where the user passes --trust-code.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from env_adapters.disk_cache import cache_folder
from env_adapters.suite_names import COMPOSED
from env_adapters.suites import FAMILIES, SCHEDULE
from reglue.errors import NotTrusted, setting
from reglue.examples import EXAMPLES
from reglue_bench.benchmark.declared import WAIT
from reglue_bench.procedures import PROCEDURES
from reglue_bench.settings import AGENT_WAIT, Settings

SIGNATURE = "signature"
"""Entry of a ledger's `about`."""

_VALUE = re.compile(r"(env_adapters\.\w+:Reglue/)?(?![/~])[^:.\\]*")
"""Names no module but ours, and no file: an id of Gymnasium imports what is before a colon."""

_KEY = "signing.key"
_KEY_BYTES = 32


def signature(plan: str, settings: str) -> str:
    """A proof that this user began the run here; empty if no key can be kept."""
    key = _signing_key()
    text = json.dumps([plan, settings]).encode()
    return "" if key is None else hmac.new(key, text, hashlib.sha256).hexdigest()


def check_trusted(folder: Path, about: Mapping[str, str], *, trust_code: bool) -> None:
    """Raise NotTrusted if making the environment of a run in `folder` runs other people's code."""
    _check(folder, about, foreign_suite(about["plan"]), trust_code=trust_code)


def check_resumable(
    folder: Path, about: Mapping[str, str], *, new_agent: bool, trust_code: bool
) -> None:
    """As `check_trusted`, of all that going on with the run would run: also its agent, but
    for a new one that is named now.
    """
    settings = Settings.model_validate_json(about["settings"])
    # The plan may be made again, of what the settings name.
    names = [*foreign_suite(about["plan"]), *_foreign_benchmark(settings)]
    if not new_agent:
        names += [settings.agent_cmd] if settings.agent_cmd else []
        if settings.agent and settings.agent not in {*EXAMPLES, AGENT_WAIT}:
            names.append(settings.agent)
    _check(folder, about, names, trust_code=trust_code)


def check_benchmark_trusted(file: Path, settings: Settings, *, trust_code: bool) -> None:
    """Raise NotTrusted if making the plan of a `file`'s settings runs other people's code."""
    about = {"plan": "", "settings": ""}
    _check(file, about, _foreign_benchmark(settings), trust_code=trust_code)


def foreign(value: Any) -> Iterator[str]:
    """The names of modules and files in a JSON value that are not Reglue's.

    A string is an environment's name, but in a dict where its key is not `env`.
    """
    match value:
        case str():
            if not _is_ours(value):
                yield value
        case list() | tuple():
            for each in value:
                yield from foreign(each)
        case dict():
            for key, each in value.items():
                if key == "factory":
                    yield from () if str(each) in _factories() else (str(each),)
                elif isinstance(each, str) and key != "env":
                    yield from () if _VALUE.fullmatch(each) else (each,)
                else:
                    yield from foreign(each)


def foreign_suite(plan: str) -> Iterator[str]:
    """`foreign` of the suites of a plan, as JSON."""
    fields = json.loads(plan)
    training = fields.get("training") or {}
    return foreign([fields["suite"], training.get("suite", {})])


def _foreign_benchmark(settings: Settings) -> Iterator[str]:
    procedure, _, environment = settings.benchmark.partition(":")
    environment_name = environment if procedure in PROCEDURES else settings.benchmark
    return foreign([environment_name, settings.environment_args])


def _is_ours(name: str) -> bool:
    """Whether an environment of that name neither runs code nor reads files that a plan names."""
    prefix, colon, rest = name.partition(":")
    family = FAMILIES.loaded().get(prefix)
    if family is None or bool(colon) != bool(family.rest):
        return not colon and bool(_VALUE.fullmatch(name))
    return bool(family.trusted) and bool(_VALUE.fullmatch(rest))


def _factories() -> set[str]:
    """Factories that are safe with any plan."""
    trusted = {factory for family in FAMILIES.loaded().values() for factory in family.trusted}
    return {*trusted, COMPOSED, SCHEDULE, WAIT}


def _check(folder: Path, about: Mapping[str, str], names: Any, *, trust_code: bool) -> None:
    distinct = list(dict.fromkeys(names))
    if not distinct or trust_code or _is_signed(about):
        return
    listed = ", ".join(map(repr, distinct[:5])) + ", …" * (len(distinct) > 5)
    raise NotTrusted(
        f"{folder} was not begun here by this user, and names code or files that would be run or "
        f"read: {listed}; give {setting('trust_code')} if you know what they do and trust who made "
        "the folder"
    )


def _is_signed(about: Mapping[str, str]) -> bool:
    wanted, stored = signature(about["plan"], about["settings"]), about.get(SIGNATURE, "")
    return bool(wanted) and hmac.compare_digest(stored.encode(), wanted.encode())


def _signing_key() -> bytes | None:
    """This user's key, made at the first use; None if it cannot be stored."""
    folder = cache_folder()
    if folder is None:
        return None
    path = folder / _KEY
    with suppress(OSError):
        if not path.exists():
            _make_key(path)
        key = path.read_bytes()
        return key if len(key) == _KEY_BYTES else None
    return None


def _make_key(path: Path) -> None:
    """Whole or not at all; the first of several processes makes it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{_KEY}.{secrets.token_hex(8)}")
    draft.touch(0o600, exist_ok=False)
    draft.write_bytes(secrets.token_bytes(_KEY_BYTES))
    try:
        with suppress(FileExistsError):
            path.hardlink_to(draft)
    finally:
        draft.unlink()
