"""A session of S slots as a `gymnasium.vector.VectorEnv`."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from reglue.errors import BadArgument, OutOfOrder
from reglue.gymnasium.env import drawing_metadata, reduced
from reglue.gymnasium.stepped_session import Landed, Mask, SteppedSession
from reglue.gymnasium.tensor_spaces import ActionRows, space_of, value_of
from reglue.messages.agent import Budget, Phase
from reglue.spec import TaskSpec

Stepped: TypeAlias = tuple[
    Any, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]
]
"""Observations, rewards, terminated, truncated, infos."""

_WORDS = ("clipped", "defaulted", "void", "cut_off")


class GlueVectorEnv(VectorEnv[Any, Any, npt.NDArray[Any]]):
    """Episodes that a glue gives out, in S slots, as a program steps them.

    `num_envs` is the session's number of slots. Autoreset is Gymnasium's: with NEXT_STEP a slot's
    first observation comes a step after its last, and its action of that step is ignored; with
    SAME_STEP both come at once, the last as `infos["final_obs"]`; with DISABLED a slot waits for
    `reset(options={"reset_mask": mask})`. Otherwise as GlueEnv; `infos` has what is exceptional:
    the words of GlueEnv's, and `idle` for slots for which the glue has no more episodes, whose rows
    repeat their last observation.
    """

    def __init__(
        self,
        session: SteppedSession,
        autoreset_mode: AutoresetMode,
        render_mode: str | None = None,
        again: Callable[[], GlueVectorEnv] | None = None,
    ) -> None:
        """`again` makes another of the same arguments; None: nothing does."""
        self.task_spec: TaskSpec = session.spec
        self.num_envs = session.spec.slots
        self.render_mode = render_mode
        self.metadata = {**drawing_metadata(render_mode), "autoreset_mode": autoreset_mode}
        self._again = again
        self.single_observation_space = space_of(session.spec.observations)
        self.single_action_space = space_of(session.spec.actions)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._session = session
        self.autoreset_mode = autoreset_mode  # which TorchRL reads, as of Gymnasium's own
        self._rows = ActionRows(session.spec.actions, self.num_envs)
        self._everyone = np.ones(self.num_envs, np.bool_)
        self._has_begun = False
        self._leave = weakref.finalize(self, session.leave)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy begins anew. Raises NotCopied."""
        return reduced(self._again)

    @property
    def budget(self) -> Budget:
        """The time that the glue leaves to this agent, microseconds."""
        return self._session.budget

    @property
    def policy(self) -> object:
        """What plays the episodes that are judged, as they come; None: TrainingOver is raised."""
        return self._session.policy

    @policy.setter
    def policy(self, policy: object) -> None:
        self._session.set_policy(policy)

    @property
    def phase(self) -> Phase:
        """What the present episodes are for."""
        return self._session.phase

    @property
    def start_seeds(self) -> npt.NDArray[np.uint64]:
        """For each slot the seed of the agent's own random numbers in its last start, (S,)."""
        return self._session.start_seeds.copy()

    def evaluate(self, policy: object) -> str | None:
        """Let `policy` play the episodes that are judged; see GlueEnv.evaluate."""
        return self._session.evaluate(policy)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin the next episode in all slots, or in those of `options["reset_mask"]`, (S,) bool.

        Of several seeds the first counts. Raises BadArgument, TrainingOver, SessionLost.
        """
        seed = self._seed(seed)
        super().reset(seed=seed)
        mask = self._mask(options)
        session = self._session
        session.choose(seed)
        session.begin_run()
        session.begin()
        if session.phase is Phase.EVALUATE:  # to abandon an episode is to fail
            session.renew(mask & ~session.untouched)
        else:
            session.renew(mask)
        session.begin()
        session.show(mask)
        self._has_begun = True
        return self._seen(), self._infos(None)

    def step(self, actions: Any) -> Stepped:
        """Take a step in each slot. Raises BadArgument, OutOfOrder, TrainingOver, SessionLost."""
        session = self._session
        if session.is_plain:
            landed = session.act(self._rows.arrays(actions))
            if landed.is_plain:
                return self._seen(), landed.rewards, landed.terminated, landed.truncated, {}
            return self._stepped(landed, session.waits & False)
        session.check_open()
        if not self._has_begun:
            raise OutOfOrder(got="step() without an episode", wanted="reset() first")
        arrays = self._rows.arrays(actions)
        shown = session.waits.copy()  # in NEXT_STEP, instead of a step
        if self.autoreset_mode is AutoresetMode.DISABLED and 1 in shown.tobytes():
            over = shown.nonzero()[0].tolist()
            raise OutOfOrder(
                got=f"step() in environments {over}, whose episodes are over",
                wanted='reset(options={"reset_mask": mask}) first',
            )
        if 1 not in session.acts.tobytes() and 1 not in shown.tobytes():
            session.begin()
            shown = session.waits.copy()
        landed = session.act(arrays) if 1 in session.acts.tobytes() else self._nothing()
        return self._stepped(landed, shown)

    def render(self) -> tuple[Any, ...] | None:
        """A picture of each slot, as of GlueEnv; None without a `render_mode`."""
        if not self.render_mode:
            return None
        return tuple(self._session.picture(slot) for slot in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        """Leave the session; the glue is told."""
        self._leave()

    def _stepped(self, landed: Landed, shown: Mask) -> Stepped:
        """What `step` returns; the starts of `shown` are seen now."""
        session, infos = self._session, dict[str, Any]()
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            shown, infos = self._autoreset(landed)
        if 1 in shown.tobytes():
            session.show(shown)
        infos |= self._infos(landed)
        return self._seen(), landed.rewards, landed.terminated, landed.truncated, infos

    def _autoreset(self, landed: Landed) -> tuple[Mask, dict[str, Any]]:
        """SAME_STEP: the starts that are seen at once, and what they hide."""
        infos: dict[str, Any] = {}
        over = landed.ended
        if 1 in over.tobytes():
            for slot in over.nonzero()[0].tolist():
                final = value_of(self.task_spec.observations, self._session.finals(slot))
                words = {word: True for word in _WORDS if _has(landed, word, slot)}
                infos = self._add_info(infos, {"final_obs": final, "final_info": words}, slot)
            self._session.look_ahead()
        return self._session.waits.copy(), infos

    def _nothing(self) -> Landed:
        """A step in which only starts are seen."""
        terminated, truncated, started = np.zeros((3, self.num_envs), np.bool_)
        return Landed(np.zeros(self.num_envs), terminated, truncated, started)

    def _seen(self) -> Any:
        return value_of(self.task_spec.observations, self._session.observations())

    def _infos(self, landed: Landed | None) -> dict[str, Any]:
        """What is not all zeros, each with its mask."""
        session, infos = self._session, dict[str, Any]()
        if landed is not None and self.autoreset_mode is not AutoresetMode.SAME_STEP:
            _add(infos, landed, ("void", "cut_off"))
        if landed is not None:
            _add(infos, landed, ("clipped", "defaulted"))
        if 0 in session.acts.tobytes():
            ended = self._everyone & False if landed is None else landed.ended
            idle = ~(session.acts | session.waits | ended)
            if idle.any():
                infos |= {"idle": idle, "_idle": idle.copy()}
        return infos

    def _mask(self, options: dict[str, Any] | None) -> Mask:
        """Raises BadArgument."""
        options = options or {}
        mask = options.get("reset_mask", self._everyone)
        if options.keys() - {"reset_mask"}:
            raise BadArgument(f"got options {sorted(options)}, wanted reset_mask or none")
        is_mask = isinstance(mask, np.ndarray) and mask.dtype == np.bool_
        if not is_mask or mask.shape != (self.num_envs,) or not mask.any():
            raise BadArgument(
                f"got reset_mask {mask}, wanted a NumPy array of bool, shape ({self.num_envs},), "
                "with one or more True"
            )
        found: Mask = mask
        return found

    def _seed(self, seed: int | list[int | None] | None) -> int | None:
        """The first of several. Raises BadArgument."""
        if not isinstance(seed, list | tuple):
            return seed
        if len(seed) != self.num_envs:
            raise BadArgument(f"got {len(seed)} seeds, wanted {self.num_envs}, or one")
        return seed[0]


def _has(landed: Landed, word: str, slot: int) -> bool:
    mask = getattr(landed, word)
    return mask is not None and bool(mask[slot])


def _add(infos: dict[str, Any], landed: Landed, words: tuple[str, ...]) -> None:
    for word in words:
        if (mask := getattr(landed, word)) is not None:
            infos |= {word: mask, f"_{word}": mask.copy()}
