"""A rollout: named arrays of shape (time, env, …), and its transitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from reglue.error_message import brief
from reglue.errors import BadArgument, UnknownName
from reglue.spec import Array, Arrays

FIRST_FRAME: Mapping[str, float] = {
    "reward": 0.0,
    "terminated": False,
    "truncated": False,
    "done": False,
    "bootstrap": True,
    "timestep": 0,
    "cumulated_reward": 0.0,
}
"""Entries beside the first observation of an episode."""

_ALIGNMENT = 64  # bytes: JAX reads arrays without a copy if they begin at a multiple of it


@dataclass(frozen=True)
class Finals:
    """The last observations of the K episodes that ended, if a vector environment resets in the
    same step: no row of the rollout has them.
    """

    rows: npt.NDArray[np.intp]  # (K,): the rows that say that an episode ended, ascending
    envs: npt.NDArray[np.intp]  # (K,)
    arrays: Mapping[str, Array]  # (K, …): final observations, and the policy's answers to them


@dataclass(frozen=True, eq=False)
class Rollout(Mapping[str, Array]):
    """Named arrays of shape (time, env, …): a row for each time, a column for each environment.

    | name | dtype | what row t holds |
    | --- | --- | --- |
    | `observation` | the environment's | what the policy saw; entries of a Dict or Tuple space are named by their path, `observation/achieved_goal` |
    | `action` | the action space's | what the policy chose for this observation |
    | `reward` | float64 | for the action of row t−1, task units; 0 in an episode's first row |
    | `terminated`, `truncated` | bool | how the episode ended with the action of row t−1 |
    | `done` | bool | terminated or truncated |
    | `bootstrap` | bool | not terminated: the value of what the action of row t−1 led to counts |
    | `timestep` | int64 | steps since the episode began |
    | `cumulated_reward` | float64 | sum of the episode's rewards up to this row |

    What the policy returned beside its actions is under the names that it gave.

    If the environment resets in the same step (SAME_STEP and DISABLED), the row of an end holds
    the next episode's first observation, and the reward, flags, timestep and sum of the episode
    that ended. `arrivals` and `transitions` put the final observation in its place.

    Arrays are C-contiguous, writable and aligned: `torch.from_dlpack(rollout["reward"])` shares
    their memory.
    """  # noqa: E501 - a table's row is one line

    arrays: Mapping[str, Array]
    ends: npt.NDArray[np.bool_]  # (time, env): no transition leaves such a row
    finals: Finals | None = None  # None: each observation has a row of its own

    def __getitem__(self, name: str) -> Array:
        if name not in self.arrays:
            raise UnknownArray(name, self.arrays)
        return self.arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.arrays)

    def __len__(self) -> int:
        return len(self.arrays)

    def __repr__(self) -> str:
        parts = (f"{name}: {each.dtype} {each.shape}" for name, each in self.arrays.items())
        return f"Rollout({', '.join(parts)})"

    def with_arrays(self, **arrays: npt.ArrayLike) -> Rollout:
        """A rollout that has these arrays as well: what you computed from it, such as advantages.

        Args:
            arrays: of shape (time, env, …), under new names. They are not copied.

        Raises:
            BadArgument: for another shape, or a name that the rollout has.
        """
        added = {name: np.asarray(each) for name, each in arrays.items()}
        for name, each in added.items():
            if name in self.arrays:
                raise BadArgument(f"the rollout has {name} already; give yours another name")
            if each.shape[:2] != self.ends.shape:
                time, env = self.ends.shape
                raise BadArgument(got=f"{name} of shape {each.shape}", wanted=f"({time}, {env}, …)")
        return replace(self, arrays={**self.arrays, **added})

    def arrivals(self, name: str) -> Array:
        """The array with final observations: at an episode's end, the values at that end.

        Row t belongs to the action of row t−1. Only if the environment resets in the same
        step does this differ from `rollout[name]`, and is a copy. `rollout.arrivals("value")[t]`
        is what `bootstrap[t]` decides about.
        """
        array = self[name]
        if self.finals is None or name not in self.finals.arrays:
            return array
        array = array.copy()
        array[self.finals.rows, self.finals.envs] = self.finals.arrays[name]
        return array


class UnknownArray(UnknownName, KeyError):
    """A rollout has no array of this name."""

    def __init__(self, got: str, known: Mapping[str, Array]) -> None:
        super().__init__("array", got, known)

    __str__ = UnknownName.__str__  # KeyError's quotes the whole message


def transitions(rollout: Rollout, drop: str | None = None) -> dict[str, Array]:
    """The rollout as pairs of rows: before an action, and after it.

    Pairs that cross from one episode into the next are dropped, and those of waiting environments;
    all others are kept, by time and then by environment. The first of a pair holds `observation[0]`
    and `action[0]`; the second holds what the action earned, `reward[1]`, and where it led,
    `observation[1]`, `terminated[1]`, `truncated[1]`.

    Args:
        rollout: of at least two rows.
        drop: drop the pairs whose first row has this flag, for example "terminated", in place of
            those that cross.

    Returns:
        Arrays of shape (2, N, …), by the names of the rollout.

    Raises:
        BadArgument: if the rollout has fewer than two rows, or `drop` is no flag.

    Examples:
        >>> import gymnasium
        >>> from reglue.rollouts import collect_steps, transitions
        >>> envs = gymnasium.make_vec("CartPole-v1", num_envs=2)
        >>> def push(observations):  # (2, 4)
        ...     return (observations[:, 2] > 0).astype(int)
        >>> rollout = next(collect_steps(envs, push, 9, seed=0))
        >>> pairs = transitions(rollout)
        >>> pairs["observation"].shape
        (2, 16, 4)
        >>> times = pairs["timestep"]
        >>> times[:, :4].tolist()
        [[0, 0, 1, 1], [1, 1, 2, 2]]
    """
    if not isinstance(rollout, Rollout):
        raise BadArgument(got=f"a {type(rollout).__name__}", wanted="a Rollout")
    times, envs = rollout.ends.shape
    if times < 2:
        raise BadArgument(got=f"{times} row", wanted="2 or more, as a pair is two rows")
    first_rows = np.flatnonzero(~_dropped(rollout, drop)[:-1])
    pairs = {}
    for name, array in rollout.items():
        flat = array.reshape(times * envs, *array.shape[2:])
        pairs[name] = pair = empty((2, len(first_rows), *array.shape[2:]), array.dtype)
        np.take(flat, first_rows, axis=0, out=pair[0], mode="clip")
        # The same column's next row is `envs` further.
        np.take(flat, first_rows + envs, axis=0, out=pair[1], mode="clip")
    if rollout.finals is not None:
        _put_finals(pairs, rollout, first_rows)
    return pairs


def first_frame(num_envs: int) -> dict[str, Array]:
    """FIRST_FRAME for each environment, (env,)."""
    return {name: np.full(num_envs, value) for name, value in FIRST_FRAME.items()}


def empty(shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
    """An array as np.empty makes it, but aligned for JAX."""
    dtype = np.dtype(dtype)
    n_bytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    memory = np.empty(n_bytes + _ALIGNMENT, np.uint8)
    begin = -memory.ctypes.data % _ALIGNMENT
    return memory[begin : begin + n_bytes].view(dtype).reshape(shape)


def _dropped(rollout: Rollout, drop: str | None) -> npt.NDArray[np.bool_]:
    """(time, env): no pair begins here."""
    if drop is None:
        return rollout.ends
    flag = rollout[drop]
    if flag.dtype != np.bool_ or flag.ndim != 2:
        raise BadArgument(
            f"{drop} is {flag.dtype} of shape {flag.shape}, wanted a flag: bool (time, env)"
        )
    if rollout.finals is not None and drop in FIRST_FRAME:
        return np.full(flag.shape, FIRST_FRAME[drop], bool)  # no pair begins at an end
    return flag


def _put_finals(
    pairs: dict[str, Array], rollout: Rollout, first_rows: npt.NDArray[np.intp]
) -> None:
    """If the environment resets in the same step, a row may stand for two frames: the last of an
    episode, at which a pair ends, and the first of the next episode, at which a pair begins. Write
    the right frame into each pair.
    """
    assert rollout.finals is not None
    begins = rollout["done"].reshape(-1)[first_rows]
    for name, value in FIRST_FRAME.items():
        pairs[name][0][begins] = value
    envs = rollout.ends.shape[1]
    ends = (rollout.finals.rows - 1) * envs + rollout.finals.envs  # the pairs' first rows
    places = np.searchsorted(first_rows, ends)
    there = (places < len(first_rows)) & (np.append(first_rows, -1)[places] == ends)
    for name, final in rollout.finals.arrays.items():
        pairs[name][1][places[there]] = final[there]


def integer(name: str, value: object, least: int) -> int:
    """The argument as a Python integer. Raises BadArgument for another kind, or below `least`."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= least:
        return int(value)
    raise BadArgument(got=f"{name}={brief(value)}", wanted=f"an integer, {least} or more")


class Recorder:
    """Arrays of shape (rows, columns, …), which the first row's values define."""

    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns
        self.arrays: dict[str, Array] = {}

    def put(self, row: int, values: Arrays, columns: slice = slice(None)) -> None:
        """Write one row of some columns. Raises BadArgument for another shape or kind than the
        first row's.
        """
        for name, value in values.items():
            array = self.arrays.get(name)
            if array is None:
                shape = (self.rows, self.columns, *value.shape[1:])
                array = self.arrays[name] = empty(shape, value.dtype)
            place = array[row, columns]
            if place.shape != value.shape or not (
                value.dtype == array.dtype or np.can_cast(value.dtype, array.dtype, "same_kind")
            ):
                raise BadArgument(
                    got=f"{name} as {value.dtype} of shape {value.shape}",
                    wanted=f"{array.dtype} of shape {place.shape}, as before",
                )
            place[...] = value

    def grow(self) -> None:
        """Make room for twice as many rows."""
        for name, array in self.arrays.items():
            larger = empty((2 * self.rows, *array.shape[1:]), array.dtype)
            larger[: self.rows] = array
            self.arrays[name] = larger
        self.rows *= 2

    def cut(self, rows: int) -> dict[str, Array]:
        """The first rows of every array."""
        return {name: array[:rows] for name, array in self.arrays.items()}
