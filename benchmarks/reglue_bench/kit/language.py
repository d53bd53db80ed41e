"""The files of a project in each language, and the commands that build and start it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

LanguageName: TypeAlias = Literal["c", "cpp", "julia", "python", "typescript"]


@dataclass(frozen=True, slots=True)
class Language:
    """A language of projects. Commands are for a shell, in the project's folder."""

    title: str
    agent: str  # the project's own file
    example: str  # what that file is at first: a path in the checkout
    sources: tuple[str, ...]  # of the checkout: the client, and what its build reads
    interface: str  # the one of them that explains what agents write
    build: str
    start: str  # plays at the glue that REGLUE_ADDRESS names
    programs: tuple[str, ...]  # that `build` and `start` look for in PATH
    debian: str  # the packages that have them, and the libraries that the client is built with
    dependencies: str  # the file that names the project's libraries
    not_in_debian: str = ""  # where else the others are: a sentence

    @property
    def where_programs_are(self) -> str:
        """Sentences that say how to get `programs`."""
        debian = f"On Debian: `sudo apt-get install {self.debian}`." if self.debian else ""
        return " ".join(filter(None, (debian, self.not_in_debian)))


_GRPC = (
    "cmake g++ libgrpc++-dev libprotobuf-dev libssl-dev ninja-build protobuf-compiler "
    "protobuf-compiler-grpc"
)
_CPP_PROGRAMS = ("c++", "cmake", "grpc_cpp_plugin", "ninja", "protoc")
_CPP = ("LICENSE", "proto/reglue", "agent_clients/cpp")
_C = (*_CPP, "agent_clients/c")
_CMAKE = "cmake -S . -B build -G Ninja && cmake --build build"

LANGUAGES: Mapping[LanguageName, Language] = {
    "c": Language(
        title="C",
        agent="agent.c",
        example="agent_clients/c/examples/random.c",
        sources=_C,
        interface="agent_clients/c/README.md",
        build=_CMAKE,
        start="build/agent",
        programs=("cc", *_CPP_PROGRAMS),
        debian=_GRPC,
        dependencies="`CMakeLists.txt`",
    ),
    "cpp": Language(
        title="C++",
        agent="agent.cc",
        example="agent_clients/cpp/examples/random.cc",
        sources=_CPP,
        interface="agent_clients/cpp/README.md",
        build=_CMAKE,
        start="build/agent",
        programs=_CPP_PROGRAMS,
        debian=_GRPC,
        dependencies="`CMakeLists.txt`",
    ),
    "julia": Language(
        title="Julia",
        agent="agent.jl",
        example="agent_clients/julia/examples/random.jl",
        sources=(*_C, "agent_clients/julia", ".ci/julia"),
        interface="agent_clients/julia/README.md",
        # Compiled once, before several agents would do it at the same time.
        build=f"{_CMAKE} && REGLUE_LIBRARY=build/libreglue.so julia --project=. -e 'using Reglue'",
        start="sh agent",
        programs=("julia", *_CPP_PROGRAMS),
        debian=_GRPC,
        not_in_debian="Julia 1.5 or newer is at julialang.org.",
        dependencies="`Project.toml`, by `julia --project=. -e 'using Pkg; Pkg.add(…)'`",
    ),
    "python": Language(
        title="Python",
        agent="agent.py",
        example="agent_clients/python/reglue/examples/random_agent.py",
        sources=("agent_clients/python",),
        interface="agent_clients/python/reglue/agents/agent.py",
        build="python3 -m venv .venv && .venv/bin/pip install -r requirements.txt",
        start=".venv/bin/reglue join agent.py:RandomAgent",
        programs=("python3",),
        debian="python3-venv",
        dependencies="`requirements.txt`",
    ),
    "typescript": Language(
        title="TypeScript",
        agent="agent.ts",
        example="agent_clients/typescript/examples/random.ts",
        sources=("LICENSE", "proto/buf.yaml", "proto/reglue", "agent_clients/typescript"),
        interface="agent_clients/typescript/README.md",
        build="npm install --no-audit --no-fund && npm run build",
        start="node dist/agent.js",
        programs=("node", "npm"),
        debian="",
        not_in_debian="Node 20.18, 22.9 or newer, with npm, is at nodejs.org: Debian 12's is 18.",
        dependencies="`package.json`",
    ),
}
