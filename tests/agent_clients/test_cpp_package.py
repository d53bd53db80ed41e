"""The C++ client as users get it: installed to a prefix, or as a part of their project."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reglue_bench.results.scores import PerformanceScore
from tests.agent_clients.client_programs import ROOT, built, online, playing, run

pytestmark = pytest.mark.timeout(600)  # the first test compiles the client

SOURCES = ROOT / "agent_clients" / "cpp"
PROGRAM = """
#include <iostream>

#include <reglue/reglue.h>

int main() {
  reglue::Options options;
  options.address = "nowhere";
  try {
    reglue::AgentSession session(options, {});
  } catch (const reglue::UsageError& error) {
    std::cout << error.what();
  }
}
"""
SAYS = "got address 'nowhere', wanted host:port such as 127.0.0.1:4096"


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the client is installed; its build is not needed any more."""
    build = built("cpp", "reglue", "")
    there = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", str(build), "--prefix", str(there))
    return there


@pytest.fixture(scope="module")
def flags(prefix: Path) -> list[str]:
    """Those of the compiler and linker, by pkg-config."""
    package = {"PKG_CONFIG_PATH": ":".join(str(path.parent) for path in prefix.rglob("*.pc"))}
    return run("pkg-config", "--cflags", "--libs", "reglue++", environment=package).split()


def readme(holds: str) -> str:
    """The README's program or lines with that text."""
    page = (SOURCES / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```cpp\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    (block,) = [each for each in blocks if holds in each]
    return str(block)


def configured(folder: Path, cmake: str, *options: str) -> Path:
    """The build folder of a project with `PROGRAM`."""
    (folder / "program.cc").write_text(PROGRAM)
    (folder / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.18)\nproject(theirs CXX)\n{cmake}"
    )
    run("cmake", "-S", str(folder), "-B", str(folder / "build"), "-G", "Ninja", *options)
    return folder / "build"


def test_a_project_finds_the_installed_package(prefix: Path, tmp_path: Path) -> None:
    build = configured(
        tmp_path,
        "find_package(reglue 0.1 REQUIRED)\n"
        "add_executable(program program.cc)\n"
        "target_link_libraries(program PRIVATE reglue::reglue)\n",
        f"-DCMAKE_PREFIX_PATH={prefix}",
    )
    run("cmake", "--build", str(build))
    assert run(str(build / "program")) == SAYS


def test_another_version_is_no_match(prefix: Path, tmp_path: Path) -> None:
    configured(
        tmp_path,
        "find_package(reglue 0.2 QUIET)\n"
        "if(reglue_FOUND)\n"
        '  message(FATAL_ERROR "found ${reglue_VERSION}")\n'
        "endif()\n",
        f"-DCMAKE_PREFIX_PATH={prefix}",
    )


def test_pkg_config_says_how_to_compile_and_link(flags: list[str], tmp_path: Path) -> None:
    (tmp_path / "program.cc").write_text(PROGRAM)
    program = str(tmp_path / "program")
    run("c++", "-std=c++17", str(tmp_path / "program.cc"), *flags, "-o", program)
    assert run(program) == SAYS


def test_the_readmes_environment_is_played(flags: list[str], tmp_path: Path) -> None:
    (tmp_path / "program.cc").write_text(readme("env_init"))
    program = tmp_path / "program"
    run("c++", "-std=c++17", str(tmp_path / "program.cc"), *flags, "-o", str(program))
    result = online(
        lambda where: playing(program, where),
        agent="constant",
        agent_args={"action": "1"},
        episodes=2,
    )
    [score] = result.score_as(PerformanceScore).runs
    assert score.episode_steps == [3, 3]
    assert score.line == [-3, -3]


@pytest.mark.parametrize(
    ("standard", "options"), [("c++20", "{.max_steps = 10'000}"), ("c++17", "{10'000}")]
)
def test_the_readmes_benchmark_program_is_compiled(
    standard: str, options: str, flags: list[str], tmp_path: Path
) -> None:
    lines = readme("rl_init").replace("{.max_steps = 10'000}", options)
    source = tmp_path / "program.cc"
    source.write_text(
        f"#include <iostream>\n#include <reglue/reglue.h>\nint main() {{\n{lines}}}\n"
    )
    warnings = ("-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only")
    run("c++", f"-std={standard}", *warnings, str(source), *flags)


def test_as_a_part_of_a_project_it_adds_neither_tests_nor_options_nor_installed_files(
    tmp_path: Path,
) -> None:
    build = configured(
        tmp_path,
        "enable_testing()\n"
        f"add_subdirectory({SOURCES} reglue)\n"
        "add_executable(program program.cc)\n"
        "target_link_libraries(program PRIVATE reglue::reglue)\n"
        "add_test(NAME theirs COMMAND program)\n"
        f"get_property(targets DIRECTORY {SOURCES} PROPERTY BUILDSYSTEM_TARGETS)\n"
        'file(WRITE "${CMAKE_BINARY_DIR}/targets" "${targets}")\n',
    )
    targets = (build / "targets").read_text().split(";")
    assert targets == ["reglue_proto", "reglue_proto_code", "reglue", "reglue_strict"]
    assert "Total Tests: 1\n" in run("ctest", "--test-dir", str(build), "--show-only")
    cache = (build / "CMakeCache.txt").read_text()
    assert "BUILD_TESTING" not in cache
    assert "CMAKE_BUILD_TYPE:STRING=\n" in cache
    run("cmake", "--install", str(build), "--prefix", str(tmp_path / "prefix"))
    assert not (tmp_path / "prefix").exists()


def test_another_system_than_linux_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="runs on Linux only, got FreeBSD"):
        configured(tmp_path, f"add_subdirectory({SOURCES} reglue)\n", "-DCMAKE_SYSTEM_NAME=FreeBSD")
