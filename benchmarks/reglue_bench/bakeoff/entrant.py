"""An agent of a bake-off."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from reglue_bench.settings import AGENT_WAIT, Settings

SEED = "{training_seed}"
"""Stands for the training seed in an agent's arguments and command."""

SEED_FOLDER = "seed-"
"""The end of the name of a training seed's run, before the seed."""


@dataclass(frozen=True, slots=True)
class Entrant:
    """An agent of a bake-off."""

    name: str  # of its table, and of its run's folder
    settings: Settings  # of its run
    token: str | None = None  # its secret, if it connects by itself; None: one is made
    token_from: str = ""  # where the token comes from, for people
    random_key: str | None = None  # keys its random seeds; None: its name
    plays_without: tuple[str, ...] = ()  # flags that only agents that are started here can have

    @property
    def submission(self) -> str:
        """The key of its random seeds, besides the plan's seed and the secret."""
        return self.name if self.random_key is None else self.random_key

    @property
    def waits(self) -> bool:
        """Whether it connects by itself."""
        return self.settings.agent == AGENT_WAIT

    @property
    def depends_on_seed(self) -> bool:
        """Whether another training seed makes it another agent: it trains, or is told the seed."""
        templates = [self.settings.agent_cmd or "", *self.settings.agent_args.values()]
        return self.settings.train_steps is not None or any(SEED in text for text in templates)

    def over_seeds(self, count: int) -> Iterator[Entrant]:
        """It with so many training seeds, from its own or 0 on."""
        first = self.settings.training_seed or 0
        return map(self._with_seed, range(first, first + count))

    def _with_seed(self, seed: int) -> Entrant:
        def filled(text: str) -> str:
            return text.replace(SEED, str(seed))

        settings = self.settings
        changes = {
            "training_seed": seed,
            "agent_args": {key: filled(value) for key, value in settings.agent_args.items()},
            "agent_cmd": settings.agent_cmd and filled(settings.agent_cmd),
        }
        return replace(
            self,
            name=f"{self.name}-{SEED_FOLDER}{seed}".lstrip("-"),
            settings=settings.model_copy(update=changes),
            random_key=self.submission,
        )
