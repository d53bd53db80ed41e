"""The tests that a fault concerns are run first."""

from __future__ import annotations

from pathlib import Path

from tests.mutants.fault_places import Fault
from tests.mutants.importing_tests import ImportGraph

FILES = {
    "lib/shop/__init__.py": "from shop.prices import total\n",
    "lib/shop/prices.py": "def total(): ...\n",
    "lib/shop/till.py": "from shop.prices import total\n",
    "lib/shop/other.py": "",
    "tests/conftest.py": "import shop.till\n",
    "tests/shop/test_prices.py": "import shop.prices\n",
    "tests/shop/test_till.py": "import shop.till\n",
    "tests/shop/test_total.py": "from shop import prices  # total of prices\n",
    "tests/shop/test_program.py": 'PROGRAM = "shop.prices:total"\n',
    "tests/shop/test_other.py": "import shop.other\n",
    "tests/agent_clients/test_words.py": "import shop.prices\n",
}


def test_tests_are_ordered_by_what_they_import_and_name(tmp_path: Path) -> None:
    """The file that mirrors it; importers, those first that name it; then by a conftest alone."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    graph = ImportGraph(tmp_path, [".", "lib"])
    fault = Fault("lib/shop/prices.py", "total", 1, "constant", "1", "2")
    names = [Path(path).stem for path in graph.tests_for(fault)]
    assert names == ["test_prices", "test_program", "test_total", "test_till", "test_other"]
