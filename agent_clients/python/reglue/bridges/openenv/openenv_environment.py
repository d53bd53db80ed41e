"""An OpenEnv server of typed actions as an environment: a WebSocket for each slot."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from reglue.bridges.openenv.json_fields import Fields
from reglue.bridges.openenv.web_socket import Server, SocketStream
from reglue.bridges.server_worlds import ServerWorlds, Talk
from reglue.environments.validation import say_unknown_names
from reglue.error_message import brief
from reglue.errors import BadArgument, EnvironmentFault, UsageError
from reglue.messages.environment_messages import Cell, Played
from reglue.spec import Arrays, TaskSpec

# Properties that do not become tensors.
_OF_ACTIONS = ("metadata",)
_OF_OBSERVATIONS = ("metadata", "done", "reward")
_TOOLS = ("call_tool", "list_tools")  # the type of an action that is an MCP call


class OpenEnv(ServerWorlds):
    """The environments of an OpenEnv server.

    The properties of its actions and observations are tensors. `done` ends an episode; nothing
    truncates it. A reward that is null is 0. Each reset gets the episode's seed; the server does
    not tell whether its environment draws from it. A server that answered before and cannot be
    reached any more is waited for; then EnvironmentLost is raised.
    """

    def __init__(
        self,
        url: str,
        *,
        action: Mapping[str, Any] | None = None,
        observation: Mapping[str, Any] | None = None,
        reset_settings: Mapping[str, Any] | None = None,
        repeatable: bool = True,
        answer_timeout_s: float = 60.0,
    ) -> None:
        """Check the arguments; nothing is sent yet.

        Args:
            url: http(s)://HOST:PORT, perhaps with a path.
            action: Changes to the schemas of an action's properties, a JSON merge patch: bounds
                that the server does not tell, or null for a property that is not sent.
            observation: The same of observations.
            reset_settings: Arguments of each reset, without `seed`.
            repeatable: False if the server's environment ignores the seed of a reset.
            answer_timeout_s: How long the server may take for its answers to a turn.

        Raises BadArgument.
        """
        self._address = Server(url)
        super().__init__(f"the OpenEnv server at {self._address.url}", answer_timeout_s)
        self._action = _json_settings("action", action)
        self._observation = _json_settings("observation", observation)
        self._reset = _json_settings("reset_settings", reset_settings)
        self._has_joined = False  # each slot
        given: object = repeatable
        if type(given) is not bool:
            raise BadArgument(got=f"repeatable {brief(given)}", wanted="true or false")
        self.repeatable = repeatable
        if "seed" in self._reset:
            raise BadArgument("reset_settings", got="seed", wanted="other names: the run has seeds")

    @property
    def variants(self) -> Mapping[str, int]:
        """One task, `openenv`."""
        return {"openenv": 1}

    def env_init(self, slots: int) -> TaskSpec:
        """Read the schemas, and open a connection for each slot.

        Raises EnvironmentFault, and UsageError for schemas that a TaskSpec cannot express.
        """
        self.env_cleanup()
        try:
            schemas = self._address.schemas(self._timeout_s, is_patient=self.is_replacement)
        except EnvironmentFault as error:
            raise type(error)(f"{self._server}: {error}") from None
        spec = self._read_schemas(schemas)
        try:
            self._join_all(slots)
        except BaseException:
            self.env_cleanup()
            raise
        self._has_joined = True
        return spec

    def env_cleanup(self) -> None:
        """Close the environments."""
        self._has_joined = False
        self._leave_all()

    def _open(self, slot: int) -> SocketStream:
        return SocketStream(
            self._address.socket_url, is_patient=self._has_joined or self.is_replacement
        )

    def _joining(self, slot: int) -> Talk:
        yield [("state", None)]  # a server without a free place says so in its first answer
        self._stream(slot).has_joined = True

    def _starting(self, slot: int, cell: Cell, row: int, answer: Played) -> Talk:
        if self._stream(slot).has_failed:
            yield from self._leaving(slot)
        if not self._stream(slot).has_joined:
            yield from self._joining(slot)
        (begun,) = yield [("reset", {**self._reset, "seed": self._seed(cell)})]
        seen = begun.get("observation")
        say_unknown_names(seen, self._observations.known)
        self._observations.read(seen, answer.observations, row)
        if _done(begun):
            raise EnvironmentFault(got="done after a reset", wanted="an episode that goes on")

    def _stepping(self, slot: int, row: int, actions: Arrays, answer: Played) -> Talk:
        (step,) = yield [("step", self._actions.write(actions, row))]
        self._observations.read(step.get("observation"), answer.observations, row)
        answer.rewards[row] = _reward(step)
        answer.terminated[row] = _done(step)

    def _leaving(self, slot: int) -> Talk:
        """The server has ended the environment when it closes the connection."""
        yield [("close", None)]
        self._streams.pop(slot).close()

    def _read_schemas(self, schemas: Mapping[str, Any]) -> TaskSpec:
        action, observation = schemas.get("action"), schemas.get("observation")
        if _is_mcp(action):
            wanted = "a server of typed actions: Reglue does not call tools"
            raise UsageError(self._server, got="MCP tools alone", wanted=wanted)
        begun = schemas.get("reset_observation", observation)
        try:
            self._actions = Fields("action", action, self._action, _OF_ACTIONS)
            self._observations, first = (
                Fields("observation", each, self._observation, _OF_OBSERVATIONS)
                for each in (observation, begun)
            )
            if first.specs != self._observations.specs:
                got = f"observations of reset with {[each.name for each in first.specs]}"
                raise UsageError(got=got, wanted="the properties of step's observations")
            self.nullable = self._observations.nullable
            return TaskSpec(self._observations.specs, self._actions.specs)
        except UsageError as error:
            raise UsageError(f"{self._server}: {error.args[0]}") from None


def _is_mcp(action: Any) -> bool:
    try:
        return action["properties"]["type"]["const"] in _TOOLS
    except (LookupError, TypeError):
        return False


def _json_settings(name: str, value: object) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise BadArgument(name, got=brief(value), wanted="a mapping from names to JSON values")
    return value


def _done(answer: Mapping[str, Any]) -> bool:
    done = answer.get("done")
    if type(done) is not bool:
        raise EnvironmentFault("done", got=brief(done), wanted="true or false")
    return done


def _reward(answer: Mapping[str, Any]) -> float:
    reward = answer.get("reward")
    if reward is None:
        return 0.0
    if type(reward) not in (bool, int, float):
        raise EnvironmentFault("reward", got=brief(reward), wanted="a number")
    try:
        number = float(reward)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise EnvironmentFault("reward", got=brief(reward), wanted="a finite number")
    return number
