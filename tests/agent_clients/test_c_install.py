"""The C client as its users have it: installed, with programs built on it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from reglue_bench import evaluate
from tests.agent_clients.client_programs import ROOT, built, run

README = (ROOT / "agent_clients/c/README.md").read_text("utf-8")

pytestmark = pytest.mark.timeout(600)  # the first test compiles the client


def code(language: str, holds: str) -> str:
    """The README's block in that language which holds that."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    (block,) = [block for block in blocks if holds in block]
    return str(block)


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("installed")
    build = built("c", "reglue_c", "")
    run("cmake", "--install", str(build), "--prefix", str(where))
    return where


def plays_the_mountain_car(program: Path) -> None:
    cmd = shlex.quote(str(program))
    result = evaluate("online:mountain-car", agent="", agent_cmd=cmd, runs=1, episodes=3)
    assert result.performance is not None
    assert result.performance > -200  # the steepest way takes about 100 steps


def test_the_readmes_agent_is_built_by_find_package_and_plays(prefix: Path, tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(code("cmake", "find_package"))
    (tmp_path / "my_agent.c").write_text(code("c", "reglue_connect"))
    build = tmp_path / "build"
    run(
        "cmake",
        "-S",
        str(tmp_path),
        "-B",
        str(build),
        "-G",
        "Ninja",
        f"-DCMAKE_PREFIX_PATH={prefix}",
    )
    run("cmake", "--build", str(build))
    plays_the_mountain_car(build / "my_agent")


def test_the_readmes_agent_is_built_by_pkg_config_and_plays(prefix: Path, tmp_path: Path) -> None:
    (tmp_path / "my_agent.c").write_text(code("c", "reglue_connect"))
    (packages,) = prefix.glob("lib*/**/pkgconfig")
    flags = run(
        *("pkg-config", "--cflags", "--libs", "reglue"),
        environment={"PKG_CONFIG_PATH": str(packages)},
    )
    program = tmp_path / "my_agent"
    rpath = f"-Wl,-rpath,{packages.parent}"
    run("cc", str(tmp_path / "my_agent.c"), *shlex.split(flags), rpath, "-o", str(program))
    plays_the_mountain_car(program)


SUBPROJECT = """
cmake_minimum_required(VERSION 3.18)
project(mine C CXX)
enable_testing()
add_subdirectory(${FROM} reglue)
add_executable(my_agent my_agent.c)
target_link_libraries(my_agent PRIVATE reglue::c)
"""


def test_as_a_subproject_it_leaves_the_project_around_it_alone(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(SUBPROJECT)
    (tmp_path / "my_agent.c").write_text(code("c", "reglue_connect"))
    build = tmp_path / "build"
    cpp = built("cpp", "reglue", "libreglue++.a").parent
    where = (f"-DFROM={ROOT / 'agent_clients/c'}", f"-Dreglue_DIR={cpp}")
    run("cmake", "-S", str(tmp_path), "-B", str(build), "-G", "Ninja", *where)
    run("cmake", "--build", str(build))
    run("cmake", "--install", str(build), "--prefix", str(tmp_path / "installed"))
    assert "Total Tests: 0" in run("ctest", "--test-dir", str(build), "-N")
    assert "BUILD_TESTING" not in (build / "CMakeCache.txt").read_text("utf-8")
    assert not (tmp_path / "installed").exists()
    plays_the_mountain_car(build / "my_agent")


def test_the_library_alone_is_built_without_tests_and_examples(tmp_path: Path) -> None:
    cpp = built("cpp", "reglue", "libreglue++.a").parent
    options = ("-DBUILD_TESTING=OFF", "-DREGLUE_EXAMPLES=OFF", f"-Dreglue_DIR={cpp}")
    run("cmake", "-S", str(ROOT / "agent_clients/c"), "-B", str(tmp_path), "-G", "Ninja", *options)
    targets = run("ninja", "-C", str(tmp_path), "-t", "targets", "all")
    linked = re.findall(r"^(\S+): \w+_LINKER", targets, re.MULTILINE)
    assert linked == ["libreglue.so.0.1.0"]


def test_an_installed_library_is_no_other_major_version(prefix: Path, tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.18)\nproject(mine C)\nfind_package(reglue_c 9 REQUIRED)\n"
    )
    refused = subprocess.run(
        ["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ,
    )
    assert refused.returncode != 0
    assert 'compatible with requested version "9"' in refused.stderr
