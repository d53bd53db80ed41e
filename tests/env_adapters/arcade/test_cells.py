"""The arcade as cells: kept, restored and standardised by the bridge to Gymnasium."""

from __future__ import annotations

from contextlib import closing

import pytest

from env_adapters.arcade import GAMES, make_config
from env_adapters.determinism import check_determinism
from env_adapters.gymnasium import Gymnasium
from reglue.environments.world import Restorable, Seeded

_ID = "env_adapters.arcade:Reglue/Arcade-v0"
_VARIED = {"rows": {"distribution": "uniform", "low": 1, "high": 9}}


@pytest.mark.parametrize("game", GAMES)
def test_a_game_is_admitted(game: str) -> None:
    config = make_config(game, {"blocks_settings": _VARIED} if game == "breakout" else None)
    suite = Gymnasium(_ID, config=config)
    assert suite.standardizes
    with closing(suite.world()) as world:
        assert isinstance(world, Restorable)
        assert isinstance(world, Seeded)
    check_determinism(suite, episodes=2, steps=12)
