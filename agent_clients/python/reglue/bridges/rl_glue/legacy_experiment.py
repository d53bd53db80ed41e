"""A legacy experiment program, whose routines are carried out by `reglue.Experiment`."""

from __future__ import annotations

import struct

from reglue.bridges.rl_glue.abstract_types import NO_NUMBERS, RowLayout, task_string
from reglue.bridges.rl_glue.legacy_frames import (
    DOUBLE,
    INT,
    MOST_TEXT,
    Code,
    code_name,
    text_bytes,
    text_of,
)
from reglue.bridges.rl_glue.legacy_program import LegacyProgram
from reglue.errors import BadReply
from reglue.experiments.routines import Routines
from reglue.messages.experiment_messages import Started, Stepped
from reglue.spec import TaskSpec

IDLE_S = 86_400.0
"""The longest wait from one routine of a program to the next."""

_CODES = "a routine: 20 to 27, 33 or 34; or 35, to leave"

_UNSIGNED = struct.Struct("!I")


def answer_routines(program: LegacyProgram, rl: Routines) -> None:
    """Carry out the program's routines until it leaves.

    Raises ProgramFault if the program fails, and every error of a routine, since RL-Glue's protocol
    cannot carry one.
    """
    answers = _Answers(program, rl)
    while (call := program.next_call(MOST_TEXT, IDLE_S)) is not None:
        code, content = call
        program.send(code, answers.of(code, content))
        if code == Code.TERMINATE:
            return


class _Answers:
    def __init__(self, program: LegacyProgram, rl: Routines) -> None:
        self._program = program
        self._rl = rl
        self._observation: RowLayout
        self._action: RowLayout

    def of(self, code: int, content: bytes) -> bytes:
        """Carry out a routine; return the content of its answer."""
        rl, read = self._rl, self._program.read
        match code:
            case Code.RL_INIT:
                return text_bytes(self._begun(rl.init()))
            case Code.RL_START:
                started = rl.start()
                return self._seen(started) + self._chosen(started)
            case Code.RL_STEP:
                return self._earned(rl.step())
            case Code.RL_EPISODE:
                return INT.pack(rl.episode(read(_number, content, code)))
            case Code.RL_CLEANUP:
                rl.cleanup()
                return b""
            case Code.RL_RETURN:
                return DOUBLE.pack(rl.return_())
            case Code.RL_NUM_STEPS:
                return INT.pack(rl.num_steps())
            case Code.RL_NUM_EPISODES:
                return INT.pack(rl.num_episodes())
            case Code.RL_AGENT_MESSAGE:
                return text_bytes(rl.agent_message(read(text_of, content, code)))
            case Code.RL_ENV_MESSAGE:
                return text_bytes(rl.env_message(read(text_of, content, code)))
            case Code.TERMINATE:
                return b""
            case _:
                raise self._program.refused(code, got=code_name(code), wanted=_CODES)

    def _begun(self, spec: TaskSpec) -> str:
        self._observation, self._action = RowLayout(spec.observations), RowLayout(spec.actions)
        return task_string(spec)

    def _seen(self, answer: Started | Stepped) -> bytes:
        return self._observation.encode(answer.observations, 1)[0]

    def _chosen(self, answer: Started | Stepped) -> bytes:
        return self._action.encode(answer.actions, 1)[0]

    def _earned(self, stepped: Stepped) -> bytes:
        ended = bool(stepped.terminated[0] or stepped.truncated[0])
        chosen = NO_NUMBERS if ended else self._chosen(stepped)
        return INT.pack(ended) + DOUBLE.pack(stepped.rewards[0]) + self._seen(stepped) + chosen


def _number(content: bytes) -> int:
    """A number of steps, which RL-Glue's hub reads as an unsigned integer. Raises BadReply."""
    if len(content) != _UNSIGNED.size:
        raise BadReply("WRONG_SIZE", got=f"{len(content)} bytes", wanted="4: a number of steps")
    return int(_UNSIGNED.unpack(content)[0])
