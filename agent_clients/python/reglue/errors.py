"""Every error that Reglue raises, on one page.

Whose fault it is decides the branch: the caller's (UsageError), the door's
answer to a peer (Refused), the agent's (AgentFault), the environment's
(EnvironmentFault) or the connection's (SessionLost). An error for a bad argument is also
Python's own ValueError or TypeError, and a package that is missing an ImportError.
"""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable


class ReglueError(Exception):
    """Root of the tree."""


def brief(value: object) -> str:
    """`value` in a few words, for a message: what is long is cut, whatever a stranger sent."""
    short = reprlib.Repr()
    short.maxstring = short.maxother = 80  # characters
    return short.repr(value)


def printable(text: str) -> str:
    """Without what terminals obey and UTF-8 cannot write; lines stay."""
    return "".join(each for each in text if each.isprintable() or each in "\n\t")


def suggestion(got: str, known: Iterable[str]) -> str:
    """What to write instead of `got`: the `known` names like it, or all of them."""
    known = sorted(known)
    near = difflib.get_close_matches(got, known, n=5, cutoff=0.5)
    if near:
        return f"did you mean {', '.join(near)}?"
    return f"known: {', '.join(known) or 'none'}"


# The caller's.


class UsageError(ReglueError):
    """Something was asked for that cannot be done; nothing was changed."""


class BadArgument(UsageError, ValueError):
    """An illegal argument or setting."""


class UnknownName(BadArgument):
    """A name that is not known; the message lists the near ones."""

    def __init__(self, what: str, got: str, known: Iterable[str]) -> None:
        super().__init__(f"there is no {what} {got!r}; {suggestion(got, known)}")


class SpecError(BadArgument):
    """A TaskSpec, TensorSpec or task spec string that is malformed or contradicts itself."""


class UnknownVersion(SpecError):
    """A task spec string of another version than RL-Glue-3.0; what it says is not known."""


class CannotLoad(UsageError):
    """What a name stands for cannot be found or imported."""


class NotAnAgent(CannotLoad, TypeError):
    """What should be an agent lacks a method, or answers what no action is."""


class NotAnEnvironment(CannotLoad, TypeError):
    """What should be an environment lacks a method, or answers what fits no TaskSpec."""


class MissingExtra(UsageError, ImportError):
    """A package is not installed; the message names the extra that brings it."""

    def __init__(self, what: str, extra: str, missing: str) -> None:
        super().__init__(f"{what} needs {missing}: pip install 'reglue[{extra}]'")
        self.name = missing


class NotAdmitted(UsageError):
    """An environment does not do what it promises: two plays that should be one differ.

    `field` is what differs first, at `step` of an episode (0 is its start).
    """

    def __init__(self, what: str, *, step: int, field: str, got: str, wanted: str) -> None:
        super().__init__(f"{what}: {field} of step {step}: got {got}, wanted {wanted}")
        self.step, self.field, self.got, self.wanted = step, field, got, wanted


class RunExists(UsageError):
    """The folder already holds a run."""


class RunBusy(UsageError):
    """Another process is writing to this run."""


class RunDamaged(UsageError):
    """What a run's folder holds is not what was written there."""


class StorageFailed(ReglueError):
    """A disk is full or gone; what was committed before is kept."""


class PlanDiffers(UsageError):
    """A run can only be resumed by the plan, agent and versions that began it."""


class NotTrusted(UsageError):
    """A run's folder names somebody's code, which is not run without being asked to."""


class RoutineRefused(UsageError):
    """A routine that was not carried out; nothing was changed.

    `code` is a name of the protocol's RefusalCode without its prefix.
    """

    code = "WRONG_SIZE"

    def __init__(self, *, got: str, wanted: str) -> None:
        super().__init__(f"got {got}, wanted {wanted}")
        self.got, self.wanted = got, wanted


class OutOfOrder(RoutineRefused):
    """A routine that is not legal now; the message says what to call first."""

    code = "OUT_OF_ORDER"


class UnknownKey(RoutineRefused):
    """A key, or a kept state, that was not given out by whom it is shown to."""

    code = "UNKNOWN_KEY"


class NotSupported(RoutineRefused):
    """An optional routine that the environment does not have."""

    code = "NOT_SUPPORTED"


class OutOfDomain(RoutineRefused, ValueError):
    """An argument outside its domain, such as a slot that there is not."""

    code = "OUT_OF_DOMAIN"


ROUTINE_REFUSALS = {
    kind.code: kind for kind in (RoutineRefused, OutOfOrder, UnknownKey, NotSupported, OutOfDomain)
}
"""The errors of refused routines, by code."""


# The door's.


class Refused(ReglueError):
    """The glue did not let the peer in."""

    def __init__(self, what: str) -> None:
        """`what` may be the glue's own words."""
        super().__init__(printable(what))


class WrongToken(Refused):
    """The token is not the one that the host handed out."""


class WrongVersion(Refused):
    """The two sides speak different protocol versions."""


class WrongTls(Refused):
    """Only one side speaks TLS, or the glue's certificate is none that the peer trusts."""


class Busy(Refused):
    """The run has its agent already."""


# The agent's.


class AgentFault(ReglueError):
    """The agent failed; `status` is what its episodes are recorded as."""

    status = "agent_error"

    def __init__(self, what: str) -> None:
        """`what` may be the agent's own words."""
        super().__init__(printable(what))


class AgentTimeout(AgentFault):
    """The agent did not answer in time."""

    status = "agent_timeout"

    @classmethod
    def after(cls, timeout_s: float) -> AgentTimeout:
        """No answer within `timeout_s` seconds."""
        return cls(
            f"the agent did not answer within {timeout_s:g} s; "
            "--step-timeout and --first-step-timeout set how long it may take"
        )


class AgentAbandoned(AgentFault):
    """The agent gave up an episode."""

    status = "agent_abandoned"


class AgentDisconnected(AgentFault):
    """The agent's process or connection is gone, or never came."""

    status = "agent_disconnected"


class BadReply(AgentFault):
    """A reply that does not fit the call; the session can go on.

    `code` is a name of the protocol's RefusalCode without its prefix.
    """

    def __init__(self, code: str, *, got: str, wanted: str) -> None:
        super().__init__(f"got {got}, wanted {wanted}")
        self.code, self.got, self.wanted = code, got, wanted


# The environment's.


class EnvironmentFault(ReglueError):
    """An environment raised, or its process died and could not be replaced."""

    status = "environment_error"

    def __init__(self, what: str) -> None:
        """`what` may be the environment's own words."""
        super().__init__(printable(what))


class EnvironmentTimeout(EnvironmentFault):
    """An environment did not answer in time; it may still be there."""


# The connection's, seen by the peer.


class SessionLost(ReglueError):
    """The glue went away in mid-session."""

    def __init__(self, what: str) -> None:
        """`what` may be the glue's own words."""
        super().__init__(printable(what))


class Unreachable(ReglueError):
    """No glue answered at the address in time."""


# The conformance kit's.


class NotConforming(ReglueError):
    """A client under test does not do what the protocol asks of it."""

    def __init__(self, what: str, *, got: object, wanted: object) -> None:
        super().__init__(f"{what}: got {got}, wanted {wanted}")
