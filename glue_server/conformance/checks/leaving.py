"""How a client leaves."""

from __future__ import annotations

from typing import Any

from glue_server.conformance.harness import Harness
from glue_server.conformance.specs import PLAIN
from glue_server.conformance.verdicts import group
from reglue.errors import AgentFault, EnvironmentFault, NotConforming, ReglueError
from reglue.messages.agent import TextMessage


def at_once(stage: Harness) -> None:
    """Takes a farewell before anything else."""
    stage.fresh().bid_farewell()


def in_mid_episode(stage: Harness) -> None:
    """Takes a farewell in mid-episode, without cleanup."""
    talk = stage.talk()
    talk.begin(PLAIN)
    talk.play(2)
    stage.visit().bid_farewell()


def while_computing(stage: Harness) -> None:
    """Takes a farewell that comes while it computes."""
    talk = stage.talk()
    talk.begin(PLAIN)
    talk.send(TextMessage("sleep 200"))
    stage.visit().bid_farewell()


def in_message(stage: Harness) -> None:
    """Says what the program raised in a message, in a Fault, and leaves after the farewell."""
    stage.talk().begin(PLAIN)
    see_fault(stage, TextMessage("fail"))


def see_fault(stage: Harness, call: Any) -> None:
    """The call is answered by a Fault that says why; after the farewell the client leaves."""
    port = stage.talk().port
    port.send(call)
    try:
        reply = port.receive(stage.patience_s)
    except ReglueError as error:
        if type(error) not in {AgentFault, EnvironmentFault} or "told to fail" not in str(error):
            got = f"{type(error).__name__}: {error}"
            raise NotConforming("the reply", got=got, wanted="a Fault: told to fail") from error
    else:
        raise NotConforming("the reply", got=type(reply).__name__, wanted="a Fault")
    port.close("you have failed")
    stage.visit().see_it_fail()


LEAVING = (
    *group("farewell", at_once, in_mid_episode, while_computing),
    *group("faults", in_message),
)
