"""The requirements of `docker-compose.yml`."""

from __future__ import annotations

from pathlib import Path

import yaml  # type: ignore[import-untyped]  # which comes with MkDocs

ROOT = Path(__file__).parents[2]
COMPOSE = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")


def test_nobody_has_to_set_a_token_or_a_secret() -> None:
    assert "${" not in COMPOSE
    settings = (ROOT / ".env").read_text(encoding="utf-8").splitlines()
    assert [line for line in settings if line[0] != "#"] == ["COMPOSE_PROFILES=bakeoff"]


def test_every_token_is_drawn() -> None:
    """A volume that a container mounts as its token is one of those that `tokens` fills."""
    services = yaml.safe_load(COMPOSE)["services"]
    drawn = {volume.partition(":")[0] for volume in services["tokens"]["volumes"]}
    for service in services.values():
        for volume in service.get("volumes", []):
            name, _, place = volume.partition(":")
            if place.startswith(("/token", "/goals")):
                assert name in drawn


def test_each_service_is_of_one_profile() -> None:
    """So neither starts with the other; both need their tokens."""
    started: dict[str, set[str]] = {}
    services = yaml.safe_load(COMPOSE)["services"]
    assert services.pop("tokens")["profiles"] == ["bakeoff", "competition"]
    for name, service in services.items():
        (profile,) = service["profiles"]
        started.setdefault(profile, set()).add(name)
    languages = ("python", "cpp", "julia", "typescript")
    assert started == {
        "bakeoff": {"glue", "environment", "report", *languages},
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
        for network in service.get("networks", []):
            members.setdefault(network, set()).add(name)
    assert members.pop("database") == {"competition", "postgres"}
    assert members.pop("page") == {"competition", "report"}
    assert all(len(each) == 2 and each & {"glue", "competition"} for each in members.values())
    others = {"tokens", "glue", "report", "competition", "postgres"}
    assert members.keys() == services.keys() - others
