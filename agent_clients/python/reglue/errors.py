"""All errors that Reglue raises.

The branch says whose fault it is: the caller's (UsageError), a refused peer's (Refused), the
agent's (AgentFault), the environment's (EnvironmentFault) or the connection's (SessionLost).
BadReply blames nobody: its reader knows which peer sent it. An error for a bad argument is also a
ValueError or TypeError, and one for a missing package an ImportError.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import TypeVar

from reglue.error_message import printable, suggestion

_SETTING = re.compile("\ue000(\\w+)(?: ([^\ue001]*))?\ue001")
"""The output of `setting`, between two characters of private use."""


def setting(name: str, value: object = None) -> str:
    """A setting in the message of an error, with a value that it got or may get.

    `str(error)` shows the keyword, `num_episodes=3`; a command shows the flag, `--num-episodes 3`;
    and a setting that a file holds is a key, `num_episodes = 3`: see `settings_of`.
    """
    return f"\ue000{name}\ue001" if value is None else f"\ue000{name} {value}\ue001"


@contextmanager
def settings_of(place: str, names: Collection[str]) -> Iterator[None]:
    """Within the block these settings are keys of `place`: a file, or a table in it.

    A UsageError that names one of them shows it as a key, and its message begins with the place.
    """
    try:
        yield
    except UsageError as error:
        held = error.settings.intersection(names).difference(*error.keys.values())
        if held:
            error.keys = {place: held, **error.keys}
        raise


def flag(name: str) -> str:
    """The flag of a setting: `num_episodes` is `--num-episodes`, `agent_args` is `--agent-arg`.

    A flag's name has no unit: `connect_timeout_s` is `--connect-timeout`.
    """
    one = name.removesuffix("s") if name.endswith("_args") else name.removesuffix("_s")
    return f"--{one.replace('_', '-')}"


class ReglueError(Exception):
    """Root of the tree.

    The message is what was wrong, in one part or from the place to the mistake: `config: color: no
    such color`. If it ends with `got …, wanted …`, the error has these words as `got` and `wanted`,
    which are empty otherwise.
    """

    keys: Mapping[str, Collection[str]] = MappingProxyType({})
    """The settings in the message that files hold, by the file: the outermost first."""

    def __init__(self, *what: object, got: object = "", wanted: object = "") -> None:
        facts = f"got {got}, wanted {wanted}" if f"{got}{wanted}" else ""
        super().__init__(": ".join(part for part in (*map(str, what), facts) if part))
        self.got, self.wanted = _with_keywords(f"{got}"), _with_keywords(f"{wanted}")

    def __str__(self) -> str:
        """The message, in which settings are keywords."""
        return self._worded(lambda name: name, "=")

    def with_flags(self) -> str:
        """The message, in which settings are flags."""
        return self._worded(flag, " ")

    @property
    def settings(self) -> set[str]:
        """The names of the settings in the message."""
        return {match[1] for match in _SETTING.finditer(super().__str__())}

    def _worded(self, word: Callable[[str], str], equals: str) -> str:
        in_files = {name for names in self.keys.values() for name in names}

        def worded(match: re.Match[str]) -> str:
            name, value = match.groups()
            label, sign = (name, " = ") if name in in_files else (word(name), equals)
            return label if value is None else f"{label}{sign}{value}"

        return ": ".join([*self.keys, _SETTING.sub(worded, super().__str__())])


def _with_keywords(text: str) -> str:
    return _SETTING.sub(lambda match: match[1] + (f"={match[2]}" if match[2] else ""), text)


def is_interrupt(error: BaseException | None) -> bool:
    """Whether an error is Ctrl-C's, or was raised while Ctrl-C's was on its way."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def raise_interrupt(error: BaseException) -> None:
    """Raise KeyboardInterrupt if Ctrl-C led to `error`, which then is not a fault.

    Ctrl-C within a lock's own lines ends as the lock's RuntimeError. What is no Exception ends the
    program, and is raised as it is.
    """
    if not isinstance(error, Exception):
        raise error
    if is_interrupt(error):
        raise KeyboardInterrupt from error


# The caller's.


class UsageError(ReglueError):
    """A request that cannot be carried out; nothing changed."""


class BadArgument(UsageError, ValueError):
    """An illegal argument or setting."""


Mistake = TypeVar("Mistake", bound=UsageError)


def joined(mistakes: Sequence[Mistake]) -> Mistake:
    """The one mistake, or an error of the first's class whose message has those of all."""
    if len(mistakes) == 1:
        return mistakes[0]
    return type(mistakes[0])("; ".join(each.args[0] for each in mistakes))


class UnknownName(BadArgument):
    """`got` is an unknown name; the message suggests similar ones."""

    def __init__(self, what: str, got: str, known: Iterable[str], *, hint: str = "") -> None:
        """`hint` says what else may be done."""
        names = suggestion(got, known)
        super().__init__(
            f"there is no {what} {got!r}{f' ({names}); {hint}' if hint else f'; {names}'}"
        )
        self.got = got


class SpecError(BadArgument):
    """A TaskSpec, TensorSpec or task spec string that is malformed or contradicts itself."""


class UnknownVersion(SpecError):
    """A task spec string of another version than RL-Glue-3.0."""


class CannotLoad(UsageError):
    """A named file, module or class cannot be found or imported."""


class NotAnAgent(CannotLoad, TypeError):
    """An agent lacks a method, or returns something that is no action."""


class NotAnEnvironment(CannotLoad, TypeError):
    """An environment lacks a method, or returns something that does not fit its TaskSpec."""


class NotCapable(UsageError):
    """An agent reports that it cannot play the task; nothing was played."""


class IllegalAction(UsageError, ValueError):
    """An environment cannot play an action, which its TaskSpec does not exclude; nothing changed.

    It is the error of the agent that chose it.
    """


class MissingExtra(UsageError, ImportError):
    """A package is not installed; the message names the extra to install."""

    def __init__(self, what: str, extra: str, missing: str) -> None:
        super().__init__(f"{what} needs {missing}: pip install 'reglue[{extra}]'")
        self.name = missing


class NotDeterministic(UsageError):
    """An episode of a cell differs from the same episode in a fresh world.

    `history` says what came before, such as "after other episodes"; `field` is the first that
    differs, at `step` of the episode (0 is its start).
    """

    def __init__(
        self, cell: object, history: str, *, step: int, field: str, got: str, wanted: str
    ) -> None:
        super().__init__(
            f"{cell} {history} differs from a fresh world: {field} of step {step}",
            got=got,
            wanted=wanted,
        )
        self.history, self.step, self.field = history, step, field


class NotCopied(UsageError, TypeError):
    """An object that holds a session cannot be copied or pickled."""


class TrainingOver(UsageError):
    """A program cannot step on: the glue judges what follows, or is done."""


class RunExists(UsageError):
    """The folder already holds a run."""


class RunBusy(UsageError):
    """Another process is writing to this run."""


class RunDamaged(UsageError):
    """A run's folder was changed after it was written."""


class StorageFailed(ReglueError):
    """A disk is full or gone; committed rows are kept."""


class StoreFailed(StorageFailed):
    """A competition's database is gone, full or damaged; what was committed is kept."""


class ContainerEngineFailed(ReglueError):
    """The engine that runs an agent's container is gone, or has lost it; not the agent's fault."""


class PlanDiffers(UsageError):
    """A run resumes only with the plan, agent and versions that it began with."""


class NotTrusted(UsageError):
    """A run's folder names code, which runs only if the caller trusts it."""


class RoutineRefused(UsageError):
    """A routine was refused; nothing changed.

    `code` is a name of the protocol's RefusalCode without its prefix.
    """

    code = "WRONG_SIZE"


class OutOfOrder(RoutineRefused):
    """A routine is not legal now; the message says what to call first."""

    code = "OUT_OF_ORDER"


class UnknownKey(RoutineRefused):
    """A key or state was not made by this glue or environment."""

    code = "UNKNOWN_KEY"


class NotSupported(RoutineRefused):
    """The environment lacks an optional routine."""

    code = "NOT_SUPPORTED"


class OutOfDomain(RoutineRefused, ValueError):
    """An argument is outside its domain, such as an unknown slot."""

    code = "OUT_OF_DOMAIN"


ROUTINE_REFUSALS = {
    kind.code: kind for kind in (RoutineRefused, OutOfOrder, UnknownKey, NotSupported, OutOfDomain)
}
"""The errors of refused routines, by code."""


class PeersWords(ReglueError):
    """An error whose message may hold the words of a peer, or of the glue."""

    def __init__(self, what: str = "", *, got: str = "", wanted: str = "") -> None:
        super().__init__(printable(what), got=printable(got), wanted=printable(wanted))


# The glue's answer to a peer that joins.


class Refused(PeersWords):
    """The glue refused the peer."""


class WrongToken(Refused):
    """The token is wrong."""


class TokenRefused(WrongToken):
    """A competition's token is wrong, revoked or expired."""


class EntryRefused(Refused):
    """A team may not enter an agent now: no phase is open, or a quota is used up."""


class WrongVersion(Refused):
    """The two sides speak different protocol versions."""


class WrongTls(Refused):
    """Only one side uses TLS, or the peer does not trust the glue's certificate."""


class Busy(Refused):
    """The run has its agent already."""


# A peer's: an agent's, an environment's or a program's.


class BadReply(PeersWords):
    """A message does not fit its call; the session can go on.

    `code` is a name of the protocol's RefusalCode without its prefix.
    """

    def __init__(self, code: str, *, got: str, wanted: str) -> None:
        super().__init__(got=got, wanted=wanted)
        self.code = code


# The agent's.


class AgentFault(PeersWords):
    """The agent failed; `status` is what its episodes are recorded as."""

    status = "agent_error"


class AgentTimeout(AgentFault):
    """The agent did not answer in time."""

    status = "agent_timeout"

    @classmethod
    def after(cls, timeout_s: float) -> AgentTimeout:
        """No answer within `timeout_s` seconds."""
        return cls(f"the agent did not answer within {timeout_s:g} s")


class AgentAbandoned(AgentFault):
    """The agent gave up an episode."""

    status = "agent_abandoned"


class AgentDisconnected(AgentFault):
    """The agent's process or connection is gone, or the agent never joined."""

    status = "agent_disconnected"


class BadAgentReply(BadReply, AgentFault):
    """A reply of the agent's does not fit its call."""

    @classmethod
    def of(cls, bad: BadReply) -> BadAgentReply:
        """The same error, as one that came from an agent."""
        return cls(bad.code, got=bad.got, wanted=bad.wanted)


# The environment's.


class EnvironmentFault(PeersWords):
    """An environment raised, or its process died and could not be replaced."""

    status = "environment_error"


class EnvironmentTimeout(EnvironmentFault):
    """An environment did not answer in time; it may still run."""


class EnvironmentFull(EnvironmentFault):
    """An environment can play no more episodes at once, such as a server without a free place."""


class EnvironmentLost(EnvironmentFault):
    """An environment lost something it needs, such as a server it calls, and can play no more.

    An Environment or a World may raise it. Any other exception is a fault of its slots alone.
    """


# A benchmark program's.


class ProgramFault(PeersWords):
    """A benchmark program of another protocol failed."""


# A competition's.


class NotVerified(ReglueError):
    """Something that was played, signed or committed to differs from what is shown now."""


class TranscriptDamaged(NotVerified):
    """A transcript's bytes are not as they were written, or not as its format says."""


# The connection's, seen by the peer.


class SessionLost(PeersWords):
    """The glue went away in mid-session."""


class Unreachable(ReglueError):
    """No glue answered at the address in time."""


# The conformance kit's.


class NotConforming(ReglueError):
    """A client under test breaks a rule of the protocol."""
