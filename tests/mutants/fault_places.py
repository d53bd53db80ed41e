"""Places for faults in a source file: those that can be put into each of its functions.

Texts, messages, logs, docstrings and types stay as they are.
"""

from __future__ import annotations

import ast
import copy
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_TOLD = re.compile(r"(log|logger|warnings|console)\.|(print|say|echo|warn|show)$")
_GENERATED = re.compile(r"_pb2|/gen/|/conformance_messages")
_OTHERS: dict[type, type] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One change of one file."""

    path: str  # of the source file, relative to the tree
    function: str  # with its class
    line: int
    kind: str
    before: str  # one line each
    after: str

    @property
    def name(self) -> str:
        """The fault's identity, wherever in the file its function stands."""
        return f"{self.path}: {self.function}: {self.kind}: {self.before} → {self.after}"


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a file for a fault, and the text that replaces it."""

    kind: str
    node: ast.stmt | ast.expr
    after: str


def draw(root: Path, package: str, number: int, seed: int) -> dict[Fault, str]:
    """Different faults of a package, and what each makes of its file: a function, a kind, a place.

    Args:
        root: the tree.
        package: its folder, relative to the tree.
        number: how many; fewer where there are no more.
        seed: of the draw.

    """
    functions = [
        (path, name, kinds)
        for path in sorted((root / package).rglob("*.py"))
        if not _GENERATED.search(str(path))
        for name, kinds in _functions(path.read_text(encoding="utf-8"))
    ]
    rng = random.Random(f"{seed} {package}")
    drawn: dict[str, tuple[Fault, str]] = {}
    for _ in range(100 * number if functions else 0):
        path, name, kinds = rng.choice(functions)
        place = rng.choice(kinds[rng.choice(sorted(kinds))])
        text = path.read_text(encoding="utf-8")
        before = ast.get_source_segment(text, place.node) or ""
        fault = Fault(
            str(path.relative_to(root)),
            name,
            place.node.lineno,
            place.kind,
            " ".join(before.split()),
            " ".join(place.after.split()),
        )
        drawn[fault.name] = fault, _changed(text, place)
        if len(drawn) == number:
            break
    return dict(drawn.values())


def _functions(text: str) -> Iterator[tuple[str, dict[str, list[Place]]]]:
    """Those of a file in which something can be wrong, with their places by kind."""

    def within(node: ast.AST, names: tuple[str, ...]) -> Iterator[tuple[str, ast.AST]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield ".".join((*names, child.name)), child
            elif isinstance(child, ast.ClassDef):
                yield from within(child, (*names, child.name))

    for name, function in within(ast.parse(text), ()):
        kinds = defaultdict(list)
        for node in _code(function):
            for place in _places(node):
                kinds[place.kind].append(place)
        if kinds:
            yield name, dict(kinds)


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below, without those that only tell, and without types."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "exc", "msg"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _tells(child):
                yield child
                yield from _code(child)


def _tells(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return bool(_TOLD.search(ast.unparse(node.func).rpartition("self.")[2]))
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) or _tells(node.value)
    return isinstance(node, ast.JoinedStr)


def _places(node: ast.AST) -> Iterator[Place]:
    """Faults of this node itself."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in _OTHERS:
            yield _with("comparison", node, ops=[_OTHERS[type(op)]()])
        case ast.BoolOp(op=op):
            yield _with("and/or", node, op=_OTHERS[type(op)]())
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield Place("not dropped", node, f"({ast.unparse(operand)})")
        case ast.BinOp(op=op, left=left, right=right) if type(op) in _OTHERS:
            if not any(_is_text(side) for side in (left, right)):
                yield _with("arithmetic", node, op=_OTHERS[type(op)]())
        case ast.Constant(value=bool() | int() | float() as value):
            yield Place("constant", node, repr(not value if isinstance(value, bool) else value + 1))
        case ast.Expr(value=ast.Call()):
            yield Place("call dropped", node, "pass")
        case ast.Raise():
            yield Place("raise dropped", node, "pass")
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            yield Place("return None", node, "return None")
        case ast.Break() | ast.Continue():
            yield Place("jump dropped", node, "pass")
    if isinstance(node, (ast.If, ast.While, ast.IfExp)):
        yield Place("condition negated", node.test, f"(not ({ast.unparse(node.test)}))")
    if isinstance(node, ast.Call):
        for keyword in node.keywords:
            others = [each for each in node.keywords if each is not keyword]
            yield _with("keyword dropped", node, keywords=others)
        match node.args:
            case [first, second, *rest] if not isinstance(first, ast.Starred):
                if not isinstance(second, ast.Starred):
                    yield _with("arguments swapped", node, args=[second, first, *rest])


def _with(kind: str, node: ast.expr, **fields: object) -> Place:
    """The node with other fields."""
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return Place(kind, node, f"({ast.unparse(other)})")


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _changed(text: str, place: Place) -> str:
    """The file's text with the fault."""
    lines = text.encode().splitlines(keepends=True)
    node = place.node
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    first, last = node.lineno - 1, node.end_lineno - 1
    head, tail = lines[first][: node.col_offset], lines[last][node.end_col_offset :]
    lines[first : last + 1] = [head + place.after.encode() + tail]
    changed = b"".join(lines).decode()
    ast.parse(changed)
    return changed
