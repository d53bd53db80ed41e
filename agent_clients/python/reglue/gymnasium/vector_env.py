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
from reglue.gymnasium.stepped_session import SteppedSession
from reglue.gymnasium.tensor_spaces import ActionRows, value_of
from reglue.gymnasium.turn_result import Mask, TurnResult
from reglue.messages.agent_messages import Budget, Phase
from reglue.spaces import space_of
from reglue.spec import TaskSpec

StepReturn: TypeAlias = tuple[
    Any, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]
]
"""Observations, rewards, terminated, truncated, infos."""

_WORDS = ("clipped", "defaulted", "void", "cut_off")


class GlueVectorEnv(VectorEnv[Any, Any, npt.NDArray[Any]]):
    """Plays the episodes of a glue's run in S slots; the program steps them.

    `num_envs` is the session's number of slots. Autoreset is Gymnasium's: with NEXT_STEP a slot's
    first observation comes a step after its last, and its action of that step is ignored; with
    SAME_STEP both come at once, the last as `infos["final_obs"]`; with DISABLED a slot waits for
    `reset(options={"reset_mask": mask})`. Otherwise as GlueEnv; `infos` has GlueEnv's flags where
    they are set, and `idle` for slots for which the glue has no more episodes, whose rows repeat
    their last observation.
    """

    def __init__(
        self,
        session: SteppedSession,
        autoreset_mode: AutoresetMode,
        render_mode: str | None = None,
        again: Callable[[], GlueVectorEnv] | None = None,
    ) -> None:
        """`again` makes a copy with the same arguments; None: it cannot be copied."""
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
        """This agent's remaining time, microseconds."""
        return self._session.budget

    @property
    def policy(self) -> object:
        """The agent that plays the episodes that are judged; None: they raise TrainingOver."""
        return self._session.policy

    @policy.setter
    def policy(self, policy: object) -> None:
        self._session.set_policy(policy)

    @property
    def phase(self) -> Phase:
        """The phase of the present episodes."""
        return self._session.phase

    @property
    def start_seeds(self) -> npt.NDArray[np.uint64]:
        """The seed of the agent's random numbers in each slot's last start, (S,)."""
        return self._session.start_seeds.copy()

    def evaluate(self, policy: object) -> str | None:
        """Let `policy` play the episodes that are judged; see GlueEnv.evaluate."""
        return self._session.evaluate(policy)

    def succeeded(self, slot: int) -> bool | None:
        """Whether a slot's episode that ended last succeeded; None unless success is judged or
        reported here.

        Not an info: some loops want the same keys in all of them.
        """
        return self._session.succeeded(slot)

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

    def step(self, actions: Any) -> StepReturn:
        """Take a step in each slot. Raises BadArgument, OutOfOrder, TrainingOver, SessionLost."""
        session = self._session
        if session.is_plain:
            result = session.act(self._rows.arrays(actions))
            if result.is_plain:
                return self._seen(), result.rewards, result.terminated, result.truncated, {}
            return self._step_result(result, session.waits & False)
        session.check_open()
        if not self._has_begun:
            raise OutOfOrder(got="step() without an episode", wanted="reset() first")
        arrays = self._rows.arrays(actions)
        seen_starts = session.waits.copy()  # in NEXT_STEP, instead of a step
        if self.autoreset_mode is AutoresetMode.DISABLED and 1 in seen_starts.tobytes():
            over = seen_starts.nonzero()[0].tolist()
            raise OutOfOrder(
                got=f"step() in environments {over}, whose episodes are over",
                wanted='reset(options={"reset_mask": mask}) first',
            )
        if 1 not in session.acts.tobytes() and 1 not in seen_starts.tobytes():
            session.begin()
            seen_starts = session.waits.copy()
        result = session.act(arrays) if 1 in session.acts.tobytes() else self._nothing()
        return self._step_result(result, seen_starts)

    def render(self) -> tuple[Any, ...] | None:
        """A picture of each slot, as of GlueEnv; None without a `render_mode`."""
        if not self.render_mode:
            return None
        return tuple(self._session.picture(slot) for slot in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        """Leave the session, and tell the glue."""
        self._leave()

    def _step_result(self, result: TurnResult, seen_starts: Mask) -> StepReturn:
        """The return value of `step`; the program sees the starts in the slots of `seen_starts`."""
        session, infos = self._session, dict[str, Any]()
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            seen_starts, infos = self._autoreset(result)
        if 1 in seen_starts.tobytes():
            session.show(seen_starts)
        infos |= self._infos(result)
        return self._seen(), result.rewards, result.terminated, result.truncated, infos

    def _autoreset(self, result: TurnResult) -> tuple[Mask, dict[str, Any]]:
        """In SAME_STEP: the slots whose starts are seen, and infos of the episodes that ended."""
        infos: dict[str, Any] = {}
        over = result.ended
        if 1 in over.tobytes():
            for slot in over.nonzero()[0].tolist():
                final = value_of(self.task_spec.observations, self._session.finals(slot))
                flags = {word: True for word in _WORDS if _has(result, word, slot)}
                infos = self._add_info(infos, {"final_obs": final, "final_info": flags}, slot)
            self._session.look_ahead()
        return self._session.waits.copy(), infos

    def _nothing(self) -> TurnResult:
        """The result of a step in which only starts are seen."""
        terminated, truncated, started = np.zeros((3, self.num_envs), np.bool_)
        return TurnResult(np.zeros(self.num_envs), terminated, truncated, started)

    def _seen(self) -> Any:
        return value_of(self.task_spec.observations, self._session.observations())

    def _infos(self, result: TurnResult | None) -> dict[str, Any]:
        """Every info that is not False in all slots, with its mask."""
        session, infos = self._session, dict[str, Any]()
        if result is not None and self.autoreset_mode is not AutoresetMode.SAME_STEP:
            _add(infos, result, ("void", "cut_off"))
        if result is not None:
            _add(infos, result, ("clipped", "defaulted"))
        if 0 in session.acts.tobytes():
            ended = self._everyone & False if result is None else result.ended
            idle = ~(session.acts | session.waits | ended)
            if idle.any():
                infos |= {"idle": idle, "_idle": idle.copy()}
        return infos

    def _mask(self, options: dict[str, Any] | None) -> Mask:
        """Raises BadArgument."""
        options = options or {}
        mask = options.get("reset_mask", self._everyone)
        if options.keys() - {"reset_mask"}:
            raise BadArgument(got=f"options {sorted(options)}", wanted="reset_mask or none")
        is_mask = isinstance(mask, np.ndarray) and mask.dtype == np.bool_
        if not is_mask or mask.shape != (self.num_envs,) or not mask.any():
            raise BadArgument(
                got=f"reset_mask {mask}",
                wanted=f"a NumPy array of bool, shape ({self.num_envs},), with one or more True",
            )
        checked: Mask = mask
        return checked

    def _seed(self, seed: int | list[int | None] | None) -> int | None:
        """The first of several. Raises BadArgument."""
        if not isinstance(seed, list | tuple):
            return seed
        if len(seed) != self.num_envs:
            raise BadArgument(got=f"{len(seed)} seeds", wanted=f"{self.num_envs}, or one")
        return seed[0]


def _has(result: TurnResult, word: str, slot: int) -> bool:
    mask = getattr(result, word)
    return mask is not None and bool(mask[slot])


def _add(infos: dict[str, Any], result: TurnResult, keys: tuple[str, ...]) -> None:
    for word in keys:
        if (mask := getattr(result, word)) is not None:
            infos |= {word: mask, f"_{word}": mask.copy()}
