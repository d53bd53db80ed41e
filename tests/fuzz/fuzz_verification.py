"""Transcripts whose plan, cells or score are a stranger's: their chain and signature are right.

An input is JSON: the header with its plan, what is told of the episodes, and the score.
"""

from __future__ import annotations

import io
import json
import random
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from reglue.errors import NotTrusted, NotVerified
from reglue_bench import evaluate
from reglue_competition.transcript.framing import (
    MAGIC,
    Kind,
    RecordReader,
    first_chain,
    write_record,
)
from reglue_competition.transcript.transcript_writer import RunIdentity, write_transcript
from reglue_competition.transcript.verification import verify

_KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))
_PLAYED: Sequence[tuple[str, dict[str, Any]]] = (
    ("evaluate:mountain-car", {"num_episodes": 1, "episode_limit": 3}),
    ("online:mountain-car", {"runs": 1, "episodes": 1, "episode_limit": 3}),
    ("online:mountain-car", {"runs": 1, "steps": 3}),
)
_STRANGE: Sequence[Any] = (
    None, True, 0, -1, 1, 2, 2**31, 10**7, 10**12, 2**63, 10**400, 0.5, float("nan"), float("inf"),
    "", "aaa", "0", "\x1b[31m", "evaluate", "online", "training", "meta-learning", [], {}, [[]],
)  # fmt: skip


@cache
def transcripts() -> tuple[bytes, ...]:
    """Of real runs of each procedure, as JSON."""
    found = []
    for benchmark, settings in _PLAYED:
        with TemporaryDirectory() as folder:
            run, path = Path(folder, "run"), Path(folder, "run.reglue")
            evaluate(benchmark, agent="random", out=str(run), workers=0, **settings)
            who = RunIdentity("c", "p", "s", 0, "t", 0, _KEY.public_key().public_bytes_raw())
            write_transcript(path, header=who, folder=run, sign=_KEY.sign)
            found.append(_to_json(path))
    return tuple(found)


def verify_contents(data: bytes) -> None:
    """Chained and signed anew. Raises NotVerified if it does not stand."""
    try:
        contents = json.loads(data)
        records = _records(contents)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise NotVerified("no transcript can be made of it") from error
    with TemporaryDirectory() as folder:
        path = Path(folder, "run.reglue")
        draft, chain = io.BytesIO(), first_chain()
        draft.write(MAGIC)
        for kind, content in records:
            chain = write_record(draft, kind, content, chain)
        path.write_bytes(draft.getvalue() + _KEY.sign(chain))
        try:
            verdict = verify(path)
        except NotTrusted as error:
            raise NotVerified("it names code") from error
        if not verdict.stands:
            raise NotVerified(verdict.problem.removeprefix(f"{path}: "))


def mutated_contents(chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    """One of them with one to three of its values, or names, replaced."""
    contents = json.loads(chance.choice(seeds))
    parts = contents["header"]["plan"], contents["episodes"], contents["score"], contents
    for _ in range(chance.randint(1, 3)):
        _mistake(chance, chance.choice(parts))
    return json.dumps(contents).encode()


def _mistake(chance: random.Random, contents: Any) -> None:
    if not (places := list(_places(contents))):  # all of it is gone
        return
    holder, name = chance.choice(places)
    match chance.randrange(8):
        case 0 if isinstance(holder, dict):
            del holder[name]
        case 1 if isinstance(holder, dict):
            holder[chance.choice(["", "x", "\x1b[31m", "num_episodes", "steps"])] = holder[name]
        case 2:
            other, its = chance.choice(places)
            holder[name] = json.loads(json.dumps(other[its]))
        case 3 if isinstance(holder[name], int | float):
            holder[name] = holder[name] * chance.choice((-1, 2, 1000)) + chance.choice((0, 1))
        case _:
            holder[name] = chance.choice(_STRANGE)


def _places(value: Any) -> Any:
    """Every value, by what holds it and its name there."""
    items: Iterable[tuple[Any, Any]] = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        items = enumerate(value)
    for name, each in items:
        yield value, name
        yield from _places(each)


def _to_json(path: Path) -> bytes:
    with path.open("rb") as file:
        records = [(each.kind, each.content) for each in RecordReader(file).records()]
    episodes = []
    for kind, content in records:
        if kind is Kind.EPISODE:
            end = 4 + int.from_bytes(content[:4], "little")
            episodes.append([json.loads(content[4:end]), content[end:].hex()])
    header, score = (json.loads(records[place][1]) for place in (0, -1))
    header["plan"] = json.loads(header["plan"])
    return json.dumps({"header": header, "episodes": episodes, "score": score}).encode()


def _records(contents: Any) -> list[tuple[Kind, bytes]]:
    header = contents["header"] | {"plan": json.dumps(contents["header"]["plan"])}
    records = [(Kind.HEADER, json.dumps(header).encode())]
    for told, rest in contents["episodes"]:
        text = json.dumps(told).encode()
        content = len(text).to_bytes(4, "little") + text + bytes.fromhex(rest)
        records.append((Kind.EPISODE, content))
    return [*records, (Kind.SCORE, json.dumps(contents["score"]).encode())]
