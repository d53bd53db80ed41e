"""The TypeScript client as it is shipped: packed, and installed into another project."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agent_clients.client_programs import ROOT, TYPESCRIPT, run

pytestmark = pytest.mark.timeout(600)  # npm may fetch what it installs

PACKAGE = json.loads((TYPESCRIPT / "package.json").read_text(encoding="utf-8"))

TSCONFIG = {
    "compilerOptions": {
        "target": "es2022",
        "module": "nodenext",
        "strict": True,
        "outDir": "dist",
        "types": ["node"],
    },
    "include": ["*.ts"],
}


def npm(folder: Path, *arguments: str) -> str:
    """The command's output, in that folder."""
    quietly = ("--no-audit", "--no-fund", "--prefer-offline")
    done = subprocess.run(
        ["npm", *arguments, *quietly],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=os.environ | {"npm_config_update_notifier": "false"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def tarball(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a copy, as packing begins by removing the build."""
    checkout = tmp_path_factory.mktemp("checkout")
    copy = checkout / "agent_clients/typescript"
    made = shutil.ignore_patterns("node_modules", "dist", "gen", "*.tgz", "LICENSE")
    shutil.copytree(TYPESCRIPT, copy, ignore=made)
    shutil.copy(ROOT / "LICENSE", checkout)
    (checkout / "proto").symlink_to(ROOT / "proto")
    (copy / "node_modules").symlink_to(TYPESCRIPT / "node_modules")
    name = npm(copy, "pack", "--silent").split()[-1]
    return copy / name


def lowest(range_: str) -> str:
    """The lowest version of a range such as ^1.2.3."""
    return range_.lstrip("^~")


def readme_blocks() -> list[str]:
    """The programs of the README: an agent, an environment, a benchmark program."""
    page = (TYPESCRIPT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```ts\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 3
    return blocks


def test_the_package_can_be_published() -> None:
    """A library names ranges, or two of them could not share what they depend on."""
    assert "private" not in PACKAGE
    assert {"name", "version", "exports", "types", "files", "engines", "license"} <= PACKAGE.keys()
    assert all(range_[0] in "^~" for range_ in PACKAGE["dependencies"].values())


def test_a_project_of_its_own_depends_on_the_tarball_and_plays(
    tarball: Path, tmp_path: Path
) -> None:
    """With the lowest versions that the library allows; its tests have the lock file's."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "package.json").write_text('{"name": "mine", "private": true, "type": "module"}')
    (project / "tsconfig.json").write_text(json.dumps(TSCONFIG))
    for number, code in enumerate(readme_blocks()):
        (project / f"readme{number}.ts").write_text(code)
    dependencies = [f"{name}@{lowest(each)}" for name, each in PACKAGE["dependencies"].items()]
    tools = [f"{name}@{PACKAGE['devDependencies'][name]}" for name in ("typescript", "@types/node")]
    npm(project, "install", str(tarball), *dependencies, *tools)
    run(str(project / "node_modules/.bin/tsc"), "--project", str(project))
    names = sorted(path.name for path in (project / "node_modules/reglue").iterdir())
    assert names == ["LICENSE", "README.md", "dist", "package.json"]
    flags = ["--runs", "1", "--episodes", "2", "--out", str(tmp_path / "run")]
    agent = ["--agent-cmd", f"node {project / 'dist/readme0.js'}"]
    run(sys.executable, "-m", "reglue", "bench", "online:mountain-car", *agent, *flags)
    result = json.loads((tmp_path / "run/result.json").read_text(encoding="utf-8"))
    assert [each["status"] for each in result["score"]["runs"]] == ["ok"]
