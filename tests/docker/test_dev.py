"""`docker compose run --rm dev-…`: what a client is built and tested with is in its shell."""

from __future__ import annotations

import os

import pytest

from tests.docker.conftest import ROOT, Docker

pytestmark = [
    pytest.mark.timeout(1200),
    pytest.mark.skipif(os.environ.get("REGLUE_NO_DOCKER") == "1", reason="REGLUE_NO_DOCKER=1"),
]

# Builds are outside the checkout, which other tests use meanwhile.
SCRIPTS = {
    # Not all of it, which takes minutes: what needs the compiler, gRPC's plugin and GoogleTest.
    "dev-cpp": """
        cmake -S agent_clients/cpp -B /tmp/cpp -G Ninja -DREGLUE_EXAMPLES=OFF
        lobby=CMakeFiles/reglue_proto.dir/proto/reglue/v1/lobby.grpc.pb.cc.o
        tested=tests/CMakeFiles/reglue_tests.dir/span_test.cc.o
        cmake --build /tmp/cpp --target $lobby $tested
        python3 -m venv /tmp/reglue
    """,
    "dev-julia": "julia -e 'using Reglue, Test'",
    "dev-typescript": """
        wanted="proto agent_clients/typescript tests/reglue"
        tar -c --exclude node_modules --exclude dist $wanted | tar -xC /tmp
        cd /tmp/agent_clients/typescript
        npm ci --no-audit --no-fund
        npm run build
    """,
}


@pytest.mark.parametrize("service", SCRIPTS)
def test_a_shell_has_the_tools_of_its_client_and_is_the_checkouts_owner(
    docker: Docker, service: str
) -> None:
    docker.compose("build", service)
    as_owner = f"set -e; [ $(id -u) = {ROOT.stat().st_uid} ]; "
    docker.compose("run", "--rm", "-T", service, "sh", "-c", as_owner + SCRIPTS[service])
