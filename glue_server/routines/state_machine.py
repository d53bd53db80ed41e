"""RL-Glue's interface routines over one agent and one environment.

One state machine decides which routine is legal: RL_init comes first, except for
messages and counts; a slot steps when its environment is in mid-episode and the agent
acts there. An illegal routine is refused before any peer is called, and changes nothing.
Counts are those of RL-Glue 3.04 (RL_glue.c).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Any

from glue_server.agent.agent_calls import AgentCalls, SlotAgent
from glue_server.agent.agent_port import AgentPort
from glue_server.environment.environment_calls import EnvironmentCalls
from glue_server.environment.environment_port import EnvironmentPort
from glue_server.routines.arguments import check_seed, check_slot
from glue_server.routines.goals import SlotGoals, first_goal
from glue_server.routines.rl_routines import RLRoutines
from glue_server.routines.seeds import Cells
from glue_server.routines.slot_counts import SlotCounts
from glue_server.routines.snapshot_keys import SnapshotKeys
from glue_server.timeouts import Timeouts
from reglue.errors import (
    EnvironmentFault,
    OutOfDomain,
    OutOfOrder,
    ReglueError,
    RoutineRefused,
)
from reglue.messages import experiment_messages as rl
from reglue.messages.agent_messages import (
    Adapt,
    AdaptBegin,
    Cleanup,
    Freeze,
    RoutineDone,
    TextMessage,
)
from reglue.messages.environment_messages import GetRandomSeed, GetState, StandardizeRandomness
from reglue.spec import TaskSpec

MOST_SLOTS = 4096
"""The most slots of one glue: arrays are made for all that a program asks for."""


class StateMachine:
    """Carries out routines, one after another.

    Raises RoutineRefused (OutOfOrder, OutOfDomain, NotSupported, UnknownKey) with nothing
    changed; AgentFault and EnvironmentFault after the slots at fault have lost their
    episode, or all slots if the agent or the environment is lost.
    """

    def __init__(
        self,
        environment: EnvironmentPort,
        agent: AgentPort,
        *,
        timeouts: Timeouts,
        secret: str | None = None,
        goes_on: Callable[[], bool] = lambda: True,
        owns: bool = True,
    ) -> None:
        """`secret` keys all seeds (see Cells), the agent's by a nonce of this machine as well;
        an RL_episode is cancelled when `goes_on` says no. `owns` is false for a program in
        another process, whose answers are encoded at once: then nothing is copied for it.
        """
        self._secret = secret
        self._nonce = "" if secret is None else secrets.token_hex(16)
        self._goes_on = goes_on
        self._owns = owns
        self._agent = AgentCalls(agent, timeouts)
        self._environment = EnvironmentCalls(environment, timeout_s=timeouts.environment_s)
        self._keys = SnapshotKeys()
        self._counts = SlotCounts()
        self._inits = 0
        self._joined: RLRoutines | None = None
        self._was_interrupted = False

    def run(self, call: rl.ExperimentCall) -> rl.Answer:
        """Carry one out."""
        if self._was_interrupted:
            raise OutOfOrder(got="a routine after an interrupted one", wanted="a new glue")
        try:
            return self._run(call)
        except ReglueError:
            raise
        except BaseException:
            # Ctrl-C, or a mistake of our own: who waits for which answer is not known any
            # more, and the next routine might take an old answer for its own. A program's
            # mistakes do not come here: Routines and decoding refuse them first.
            self._was_interrupted = True
            raise

    def _run(self, call: rl.ExperimentCall) -> rl.Answer:
        match call:
            case rl.RLInit():
                return self._init(call)
            case rl.RLCounts(slot):
                check_slot(slot, len(self._counts))
                return self._counts.of(slot)
            case TextMessage():
                return self._agent_message(call)
            case rl.EnvMessage(text):
                return self._env_message(text)
        name, carry_out = ROUTINES[type(call)]
        if self._joined is None:
            raise OutOfOrder(got=f"{name} before RL_init", wanted="RL_init first")
        if isinstance(call, Cleanup):
            return self._cleanup()
        assert carry_out is not None, name
        return carry_out(self._joined, call)

    def _init(self, call: rl.RLInit) -> TaskSpec:
        """env_init, then agent_init. Half of it is none: then RL_init comes again."""
        self._check_init(call)
        if self._joined is not None:  # else what there is is known when the environment has begun
            first_goal(call.task, call.variant, self._joined.ready.variants)
        try:
            ready = self._environment.init(call.slots)
        except RoutineRefused:
            raise
        except ReglueError:
            self._joined = None
            raise
        self._joined = None
        goal = first_goal(call.task, call.variant, ready.variants)
        self._counts = SlotCounts(call.slots)
        self._agent.init(ready.spec)
        cells = Cells(
            SlotGoals(goal, ready.variants, call.slots),
            seed=call.seed,
            run=self._inits,
            secret=self._secret,
            nonce=self._nonce,
        )
        half = SlotAgent(self._agent, ready.spec, clips=not ready.raw_actions)
        self._joined = RLRoutines(
            half,
            self._environment,
            cells,
            self._counts,
            self._keys,
            goes_on=self._goes_on,
            owns=self._owns,
        )
        self._inits += 1
        return ready.spec

    def _check_init(self, call: rl.RLInit) -> None:
        """Raise OutOfDomain for arguments that are wrong for any environment."""
        check_seed(call.seed)
        for most, whose in (
            (MOST_SLOTS, "glue"),
            (self._environment.hello.max_slots, "environment"),
            (self._agent.hello.max_slots, "agent"),
        ):
            if call.slots < 1 or (most and call.slots > most):
                wanted = f"1 to {most or MOST_SLOTS}: the {whose} plays no more"
                raise OutOfDomain(got=f"{call.slots} slots", wanted=wanted)

    def _cleanup(self) -> RoutineDone:
        """env_cleanup, then agent_cleanup, which comes also when the first went wrong."""
        broken: EnvironmentFault | None = None
        try:
            self._environment.ask(Cleanup(), RoutineDone)
        except EnvironmentFault as fault:
            broken = fault
        self._joined = None
        self._agent.call(Cleanup())
        if broken is not None:
            raise broken
        return RoutineDone()

    def _agent_message(self, call: TextMessage) -> TextMessage:
        joined = self._joined
        reply = self._agent.call(call) if joined is None else joined.ask_agent(call)
        assert isinstance(reply, TextMessage), "AgentCalls looks at it"
        return reply

    def _env_message(self, text: str) -> TextMessage:
        if self._joined is not None:
            return self._joined.ask(TextMessage(text), TextMessage)
        return self._environment.ask(TextMessage(text), TextMessage)


ROUTINES: Mapping[type, tuple[str, Callable[[RLRoutines, Any], rl.Answer] | None]] = {
    rl.RLStart: ("RL_start", RLRoutines.rl_start),
    rl.RLStep: ("RL_step", RLRoutines.rl_step),
    rl.RLEpisode: ("RL_episode", RLRoutines.rl_episode),
    Cleanup: ("RL_cleanup", None),
    Freeze: ("RL_freeze", RLRoutines.freeze),
    AdaptBegin: ("RL_adapt_begin", RLRoutines.adapt_begin),
    Adapt: ("RL_adapt", RLRoutines.adapt),
    rl.RLTasks: ("RL_tasks", RLRoutines.tasks),
    rl.RLIterateGoal: ("RL_iterate_goal", RLRoutines.iterate_goal),
    StandardizeRandomness: ("RL_standardize_randomness", RLRoutines.standardize),
    GetState: ("RL_get_state", RLRoutines.get_state),
    rl.RLSetState: ("RL_set_state", RLRoutines.set_state),
    GetRandomSeed: ("RL_get_random_seed", RLRoutines.get_random_seed),
    rl.RLSetRandomSeed: ("RL_set_random_seed", RLRoutines.set_random_seed),
    rl.RLEnvStart: ("RL_env_start", RLRoutines.env_start),
    rl.RLEnvStep: ("RL_env_step", RLRoutines.env_step),
    rl.RLAgentStart: ("RL_agent_start", RLRoutines.agent_start),
    rl.RLAgentStep: ("RL_agent_step", RLRoutines.agent_step),
    rl.RLAgentEnd: ("RL_agent_end", RLRoutines.agent_end),
}
"""Routines after RL_init: the name in messages, and the function; None: the machine itself."""
