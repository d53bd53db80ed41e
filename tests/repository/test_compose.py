"""What `docker-compose.yml` asks of who starts it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import yaml  # type: ignore[import-untyped]  # which comes with MkDocs

ROOT = Path(__file__).parents[2]
COMPOSE = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")


def test_no_token_or_secret_has_a_default() -> None:
    """One that is not set is told, and `make env` sets it."""
    asked = re.findall(r"\$\{(\w+)(.*?)\}", COMPOSE)
    assert {"REGLUE_SECRET", "TOKEN_CPP", "POSTGRES_PASSWORD"} <= {name for name, _ in asked}
    assert {how for _, how in asked} == {":?make env draws it"}


def test_make_env_draws_what_is_asked_for_once(tmp_path: Path) -> None:
    file = tmp_path / "env"
    file.write_text("TOKEN_CPP=mine\n")
    drawn = []
    for _ in range(2):
        subprocess.run(["make", "env", f"ENV={file}"], cwd=ROOT, check=True, capture_output=True)
        drawn.append(file.read_text())
    assert drawn[0] == drawn[1]
    values = dict(line.split("=") for line in drawn[0].splitlines())
    assert values.pop("TOKEN_CPP") == "mine"
    assert values.pop("COMPOSE_PROFILES") == "bakeoff"
    assert values.keys() == {*re.findall(r"\$\{(\w+)", COMPOSE)} - {"TOKEN_CPP"}
    assert len({*values.values()}) == len(values)
    assert all(len(value) == 48 for value in values.values())


def test_each_service_is_of_one_profile() -> None:
    """So neither starts with the other; the bake-off's is what `make env` makes the default."""
    started: dict[str, set[str]] = {}
    for name, service in yaml.safe_load(COMPOSE)["services"].items():
        (profile,) = service["profiles"]
        started.setdefault(profile, set()).add(name)
    languages = ("python", "cpp", "julia", "typescript")
    assert started == {
        "bakeoff": {"glue", *languages},
        "competition": {"competition", "postgres", *(f"team-{each}" for each in languages)},
        "dev": {"dev-cpp", "dev-julia", "dev-typescript"},
    }


def test_a_team_shares_a_network_with_its_server_alone() -> None:
    services = {
        name: service
        for name, service in yaml.safe_load(COMPOSE)["services"].items()
        if service["profiles"] != ["dev"]
    }
    members: dict[str, set[str]] = {}
    for name, service in services.items():
        for network in service["networks"]:
            members.setdefault(network, set()).add(name)
    assert members.pop("database") == {"competition", "postgres"}
    assert members.pop("page") == {"competition"}
    assert all(len(each) == 2 and each & {"glue", "competition"} for each in members.values())
    assert members.keys() == services.keys() - {"glue", "competition", "postgres"}
