"""Benchmark programs in TypeScript that await not every call, or throw."""

from __future__ import annotations

import json
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from glue_server.rpc import GlueServer
from tests.agent_clients.client_programs import peers, run, typescript
from tests.glue_server.hubs import a_hub

PATIENCE_S = 30.0

PROGRAM = """
import {{ Experiment }} from "{library}";
const rl = await Experiment.join();
const results = [];
{body}
await rl.close();
console.log(JSON.stringify(results));
"""


def results_of(folder: Path, body: str, server: GlueServer) -> Any:
    """The values that the program has pushed to `results`."""
    program = folder / "program.mjs"
    program.write_text(PROGRAM.format(library=typescript("src/index.js"), body=body))
    where = {"REGLUE_ADDRESS": server.address, "REGLUE_TOKEN": server.tokens["experiment"]}
    return json.loads(run("node", str(program), environment=where))


def results_with_peers(folder: Path, body: str) -> Any:
    """The same at a hub with an agent, and a corridor that shows its steps and sum of actions."""
    with ThreadPoolExecutor(2) as pool, a_hub() as (server, _):
        left = peers(pool, server)
        results = results_of(folder, body, server)
        for each in left:
            assert each.result(PATIENCE_S) == "the run is over: the experiment has left"
    return results


def test_a_half_step_sends_the_arguments_of_the_time_of_its_call(tmp_path: Path) -> None:
    """It goes out after the calls before; what its arrays hold by then does not count."""
    results = results_with_peers(
        tmp_path,
        """
await rl.init();
const [action, slots, observation] = [Float32Array.of(0.5), [0], Float64Array.of(3, 4)];
const calls = [rl.envStart({ slots }), rl.envStep([action], slots), rl.envStep(action, slots),
  rl.agentStart({ observation }, slots)];
action.fill(-1);
observation.fill(NaN);
slots.push(7);
const [, first, second, { action: chosen }] = await Promise.all(calls);
results.push([...first.observations.observation.data], [...second.observations.observation.data]);
results.push(chosen.data.length);
""",
    )
    assert results == [[1, 0.5], [2, 1], 1]


def test_half_steps_need_not_wait_for_the_init_before(tmp_path: Path) -> None:
    """Rows are those of the task that is played by then."""
    results = results_with_peers(
        tmp_path,
        """
const calls = [rl.init(), rl.envStart(), rl.envStep([0.25]), rl.envStep([1, 2, 3])];
const settled = await Promise.allSettled(calls);
results.push([...settled[2].value.observations.observation.data], settled[3].reason.message);
""",
    )
    wanted = "envStep(): action action: 3 numbers, wanted 1: 1 rows of float32[1]"
    assert results == [[1, 0.25], f"got {wanted}"]


def test_calls_that_are_not_awaited_are_carried_out_in_their_order(tmp_path: Path) -> None:
    """No later one comes between the steps of a trajectory."""
    results = results_with_peers(
        tmp_path,
        """
await rl.init();
const [, , first] = await Promise.all([rl.start(), rl.step(), rl.numSteps()]);
results.push(first);
const [{ rewards }, steps] = await Promise.all([rl.episodeTrajectory(3), rl.numSteps()]);
results.push(rewards.length, steps);
""",
    )
    assert results == [2, 3, 4]


def test_who_leaves_does_not_wait_for_a_call_that_does_not_end(tmp_path: Path) -> None:
    """RL_init would wait for an agent and an environment for a day."""
    with a_hub() as (server, _):
        results = results_of(
            tmp_path,
            """
const waiting = Promise.allSettled([rl.init(), rl.start()]);
await rl.close();
for (const { reason } of await waiting) results.push(String(reason));
""",
            server,
        )
    assert results == ["SessionLost: the program has left"] * 2


def whole_program(folder: Path, program: str, **environment: str) -> tuple[int, str]:
    """The exit code of `Experiment.main(program)`, and its output."""
    script = folder / "program.mjs"
    library = typescript("src/index.js")
    script.write_text(
        f'import {{ Experiment }} from "{library}";\nawait Experiment.main({program});\n'
    )
    done = subprocess.run(
        ["node", str(script)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        env=os.environ | environment,
    )
    return done.returncode, done.stderr


def test_a_program_that_throws_beside_a_call_is_told_its_own_error(tmp_path: Path) -> None:
    """Not the end of the call, which follows from it."""
    with a_hub() as (server, _):
        where = {"REGLUE_ADDRESS": server.address, "REGLUE_TOKEN": server.tokens["experiment"]}
        throws = 'async (rl) => { rl.init(); throw new Error("no idea"); }'
        code, words = whole_program(tmp_path, throws, **where)
    assert code == 1
    assert re.fullmatch(r"reglue: Error: no idea\n( +at .*\n)+", words), words


def test_a_program_that_is_no_function_is_told_before_it_joins(tmp_path: Path) -> None:
    code, words = whole_program(tmp_path, "undefined", REGLUE_ADDRESS="127.0.0.1:1")
    error = "reglue: got undefined, wanted a function that plays an experiment\n"
    assert (code, words) == (2, error)
