"""Carries out a call on an environment: maps messages to routines."""

from __future__ import annotations

import logging

from reglue.environments.environment import Environment, fault_text
from reglue.environments.validation import conforming_spec
from reglue.errors import (
    EnvironmentLost,
    OutOfDomain,
    OutOfOrder,
    RoutineRefused,
    raise_interrupt,
)
from reglue.messages.agent_messages import Cleanup, Farewell, Refusal, RoutineDone, TextMessage
from reglue.messages.environment_messages import (
    EnvironmentCall,
    EnvironmentHello,
    EnvironmentInit,
    EnvironmentReady,
    EnvironmentReply,
    GetRandomSeed,
    GetState,
    Play,
    Played,
    SetRandomSeed,
    SetState,
    Snapshot,
    StandardizeRandomness,
)
from reglue.tracebacks import explained
from reglue.version import sdk

log = logging.getLogger("reglue")


def environment_hello(environment: Environment, name: str) -> EnvironmentHello:
    """The environment's declaration: its slots and abilities."""
    return EnvironmentHello(name[:200], sdk(), environment.max_slots)


def play_environment(environment: Environment, call: EnvironmentCall) -> EnvironmentReply | None:
    """Call the routine; None for calls that are not answered.

    An error in a Play is the fault of its slots, unless it is EnvironmentLost; a refused routine
    becomes a Refusal and changes nothing. All other errors of the environment pass through.
    """
    match call:
        case Play() if hasattr(environment, "spec"):
            return _play(environment, call)
        case Refusal() | Farewell():
            return None
        case TextMessage(text):
            return TextMessage(environment.env_message(text) or "")
        case EnvironmentInit(slots):
            return _init(environment, slots)
    try:
        if not hasattr(environment, "spec"):
            raise OutOfOrder(got=f"{type(call).__name__} before env_init", wanted="env_init first")
        return _routine(environment, call)
    except RoutineRefused as refused:
        return Refusal(0, refused.code, refused.got, refused.wanted)


def _init(environment: Environment, slots: int) -> EnvironmentReady | Refusal:
    most = environment.max_slots
    if slots < 1 or (most and slots > most):
        wanted = f"1 to {most}" if most else "at least 1"
        return Refusal(0, OutOfDomain.code, f"{slots} slots", wanted)
    environment.spec = conforming_spec(environment.env_init(slots)).with_slots(slots)
    return EnvironmentReady(
        environment.spec,
        dict(environment.variants),
        restores=environment.restores,
        portable=environment.portable,
        seeds=environment.seeds,
        standardizes=environment.standardizes,
        tells_success=environment.tells_success,
        raw_actions=environment.raw_actions,
        whole_turns=environment.whole_turns,
        repeatable=environment.repeatable,
        separate_slots=environment.separate_slots,
        nullable=tuple(environment.nullable),
    )


def _play(environment: Environment, play: Play) -> Played:
    """Play; an exception but EnvironmentLost is a fault of every slot.

    The caller or decoder has checked the slots.
    """
    try:
        return environment.play(play)
    except EnvironmentLost:
        raise
    except Exception as error:  # noqa: BLE001 - the edge of somebody's environment
        raise_interrupt(error)
        log.error("the environment failed: %s", explained(error))
        slots = (*play.slots.tolist(), *play.starts)
        return Played.blank(environment.spec, play, dict.fromkeys(slots, fault_text(error)))


def _routine(environment: Environment, call: EnvironmentCall) -> EnvironmentReply:
    match call:
        case GetState(slot):
            _check_slot(environment, slot)
            return Snapshot(environment.env_get_state(slot))
        case SetState(slot, snapshot):
            _check_slot(environment, slot)
            environment.env_set_state(slot, snapshot)
        case GetRandomSeed(slot):
            _check_slot(environment, slot)
            return Snapshot(environment.env_get_random_seed(slot))
        case SetRandomSeed(slot, snapshot):
            _check_slot(environment, slot)
            environment.env_set_random_seed(slot, snapshot)
        case StandardizeRandomness(seed):
            environment.env_standardize_randomness(seed)
        case Cleanup():
            environment.env_cleanup()
    return RoutineDone()


def _check_slot(environment: Environment, slot: int) -> None:
    """Raise OutOfDomain for an unknown slot."""
    played = environment.spec.slots
    if slot >= played:
        raise OutOfDomain(got=f"slot {slot}", wanted=f"0 to {played - 1}")
