"""The loop over turns: step, end, start, ask the agent, again."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from typing import TypeAlias

from env_adapters import Cell
from glue_server.checks import check_actions
from glue_server.episodes import Order, Outcome
from glue_server.live import Live
from glue_server.played import Answer
from glue_server.turns import Row, build_turn
from reglue.calls import Actions, EndKind, Phase, Reply, Turn
from reglue.errors import AgentFault, BadReply, EnvironmentFault
from reglue.spec import TaskSpec

NextOrder: TypeAlias = Callable[[int], Order | None]
"""What a free slot plays next; None leaves it idle for this turn."""

Exchange: TypeAlias = Callable[[Mapping[int, Cell], Mapping[int, bytes]], dict[int, Answer]]


class EpisodeLoop:
    """Episodes of one phase, in all slots, in lockstep.

    Its generators yield outcomes as episodes end, and return what comes next.
    """

    def __init__(
        self,
        spec: TaskSpec,
        phase: Phase,
        next_order: NextOrder,
        *,
        exchange: Exchange,
        ask: Callable[[Turn], Reply],
        refuse: Callable[[BadReply], None],
    ) -> None:
        self._spec = spec
        self._phase = phase
        self._next_order = next_order
        self._exchange = exchange
        self._ask = ask
        self._refuse = refuse
        self._live: dict[int, Live] = {}
        self._actions: dict[int, bytes] = {}  # of live slots, to be played

    def run(self) -> Iterator[Outcome]:
        """Turns until nothing is in play and no slot is given an order."""
        while True:
            ends = yield from self._step()
            steps = [live.row for _, live in sorted(self._live.items())]
            starts, failed = yield from self._start()
            if ends or steps or starts:
                turn = build_turn(self._spec, self._phase, ends=ends, steps=steps, starts=starts)
                yield from self._act(turn, [row.slot for row in (*steps, *starts)])
            elif not failed:
                return

    def _step(self) -> Generator[Outcome, None, list[Row]]:
        """Play the actions; the rows of episodes that are over."""
        ends: list[Row] = []
        for slot, answer in self._exchange({}, self._actions).items():
            if isinstance(answer, EnvironmentFault):
                void = {tensor.name: tensor.empty(1)[0] for tensor in self._spec.observations}
                ends.append(Row(slot, void, int(EndKind.VOID)))
                yield self._live.pop(slot).outcome(answer.status, str(answer))
            elif self._live[slot].land(answer):  # type: ignore[arg-type]  # steps answer steps
                ends.append(self._live[slot].row)
                yield self._live.pop(slot).outcome()
        self._actions = {}
        return ends

    def _start(self) -> Generator[Outcome, None, tuple[list[Row], int]]:
        """Begin episodes in free slots; their rows, and how many could not begin."""
        free = [slot for slot in range(self._spec.slots) if slot not in self._live]
        asked = {slot: self._next_order(slot) for slot in free}
        orders = {slot: order for slot, order in asked.items() if order is not None}
        starts: list[Row] = []
        cells = {slot: order.cell for slot, order in orders.items()}
        for slot, answer in self._exchange(cells, {}).items():
            live = Live(orders[slot], Row(slot, {}, orders[slot].start_seed))
            if isinstance(answer, EnvironmentFault):
                yield live.outcome(answer.status, str(answer))
                continue
            live.row = Row(slot, answer, orders[slot].start_seed)  # type: ignore[arg-type]
            self._live[slot] = live
            starts.append(live.row)
        return starts, len(orders) - len(starts)

    def _act(self, turn: Turn, slots: list[int]) -> Iterator[Outcome]:
        """Ask the agent and take down what each of `slots` plays next."""
        try:
            yield from self._take(self._ask(turn), slots)
        except BadReply as refused:
            self._refuse(refused)
            for slot in slots:
                yield self._live.pop(slot).outcome(refused.status, str(refused))
        except AgentFault as fault:
            for slot in slots:
                yield self._live.pop(slot).outcome(fault.status, str(fault))
            raise

    def _take(self, reply: Reply, slots: list[int]) -> Iterator[Outcome]:
        if not isinstance(reply, Actions):
            raise BadReply("WRONG_KIND", got=type(reply).__name__, wanted="Actions")
        checked = check_actions(self._spec, reply.arrays, len(slots))
        told: BadReply | None = None  # one refusal says enough
        for place, slot in enumerate(slots):
            if slot in reply.abandon:
                yield self._live.pop(slot).outcome("agent_abandoned", "the agent gave it up")
            elif place in checked.refused:
                refused = checked.refused[place]
                told = told or refused
                yield self._live.pop(slot).outcome(refused.status, str(refused))
            elif self._live[slot].is_cut_off:
                # No end for the agent, who has been told the last reward: as in RL-Glue's
                # RL_episode, the action it chose is not played, and a start or cleanup follows.
                yield self._live.pop(slot).outcome()
            else:
                self._actions[slot] = checked.rows[place]
                self._live[slot].act(checked.rows[place], clipped=bool(checked.clipped[place]))
        if told is not None:
            self._refuse(told)
