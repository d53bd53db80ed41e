"""The test files that could notice a fault: by their imports, and by the words in them."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from tests.mutants.fault_places import Fault

_FAR = 6  # imports; tests further away hardly ever notice a fault
_TEST = re.compile(r"(?!tests/(agent_clients|docker|repository)/)(.*/)?test_\w+\.py$")
_MODULE = re.compile(r"([a-z_][\w.]*)(:\w+)?$")


class ImportGraph:
    """The modules of a tree and who imports them.

    Args:
        root: the tree.
        roots: folders from which modules are imported, relative to it, the shortest first.

    """

    def __init__(self, root: Path, roots: Sequence[str]) -> None:
        self._root = root
        self._modules: dict[str, str] = {}  # paths by module
        for path in sorted(root.rglob("*.py")):
            relative = path.relative_to(root)
            inside = [each for each in roots if relative.is_relative_to(each)]
            if inside and not relative.parts[0].startswith("."):
                parts = relative.relative_to(inside[-1]).with_suffix("").parts
                name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
                self._modules[name] = str(relative)
        self._texts = {path: (root / path).read_text("utf-8") for path in self._modules.values()}

    @cached_property
    def _importers(self) -> dict[str, set[str]]:
        """Of each path, those that import it."""
        found: dict[str, set[str]] = defaultdict(set)
        for path, text in self._texts.items():
            for name in _imported(ast.parse(text)):
                if target := self._modules.get(name):
                    found[target].add(path)
        for path in self._texts:  # pytest's own way
            for folder in Path(path).parents:
                found[str(folder / "conftest.py")].add(path)
        return found

    def tests_for(self, fault: Fault) -> list[str]:
        """The test files that could notice it, those first that it concerns most."""
        away, edge = {fault.path: 0}, {fault.path}
        for distance in range(1, _FAR):
            edge = {each for path in edge for each in self._importers[path]} - {*away}
            away |= dict.fromkeys(edge, distance)
        words = [word for word in fault.function.split(".") if len(word) > 4]
        words.append(Path(fault.path).stem)
        mirrored = f"test_{Path(fault.path).stem}.py"
        folder = Path(fault.path).parent.name
        beside = {each for each in self._texts if Path(each).parent.name == folder}
        tests = [each for each in {*away, *beside} if _TEST.match(each)]

        def rank(path: str) -> tuple[bool, float]:
            named = sum(word in self._texts[path] for word in words)
            distance = away.get(path, _FAR) - named - (path in beside)
            return Path(path).name != mirrored, distance

        return sorted(tests, key=lambda path: (*rank(path), path))


def _imported(tree: ast.Module) -> Iterator[str]:
    """Names of modules that a module imports; some may be of what is within a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and (match := _MODULE.match(str(node.value))):
            yield match[1]
