"""Benchmark programs in TypeScript that await not every call, or give what no routine takes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from glue_server.rpc import GlueServer
from tests.agent_clients.programs import peers, run, typescript
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
    """What the program has pushed to `results`."""
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
const calls = [rl.envStart(slots), rl.envStep([action], slots), rl.envStep(action, slots),
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


def test_no_later_call_comes_between_the_steps_of_a_trajectory(tmp_path: Path) -> None:
    results = results_with_peers(
        tmp_path,
        """
await rl.init();
const [{ rewards }, steps] = await Promise.all([rl.episodeTrajectory(3), rl.numSteps()]);
results.push(rewards.length, steps);
""",
    )
    assert results == [3, 4]


WRONG = [
    ("rl.init(null)", "got options null, wanted an object of options by name"),
    ("rl.init({ task: null })", "got task null, wanted a string"),
    ("rl.start(null)", "got slots null, wanted a list, such as [0]"),
    ("rl.start([], { variant: null })", "got variant null, wanted an integer from 0 to 4294967295"),
    ("rl.episode(1, [], { task: null })", "got task null, wanted a string"),
    ("rl.envStart([0], { variant: null })", "got variant null, wanted an integer from 0 to"),
    ("rl.step(0)", "got slots 0, wanted a list, such as [0]"),
    ("rl.episode(null)", f"got maxSteps null, wanted an integer from 0 to {2**64 - 1}"),
    *(
        (f"rl.episodeTrajectory({steps})", f"got steps {steps}, wanted an integer from 0 to")
        for steps in ("NaN", "-1", "2.5", "Infinity", "undefined")
    ),
    ("rl.envStep(null, null)", "got slots null, wanted a list"),
    ("rl.envStep(undefined)", "got envStep(): undefined, wanted actions by name: action; did"),
    ("rl.agentStep(null, [0, 0])", "got rewards null, wanted a list of numbers, one for each"),
    ("rl.agentStep([1n], [0, 0])", "got reward 1, wanted a number"),
    ("rl.agentEnd([1], [0, 0], [0], null)", "got options null, wanted an object"),
    ("rl.setState(null)", "got key null, wanted a string"),
    ("rl.setRandomSeed()", "got key undefined, wanted a string"),
    ("rl.getState(null)", "got slot null, wanted an integer from 0 to 4294967295"),
    ("rl.agentMessage()", "got message undefined, wanted a string"),
    ("rl.envMessage(5)", "got message 5, wanted a string"),
    ("Experiment.join(null)", "got options null, wanted an object of options by name"),
    ("Experiment.join({ timeoutS: null })", "got a timeout of null s, wanted more than 0"),
    ("Experiment.join({ address: 5 })", "got address of type number, wanted a string, or nothing"),
    ("Experiment.join({ token: null })", "got token null, wanted a string, or nothing"),
    ("Experiment.join({ ca: 7 })", "got ca of type number, wanted a file's name or a Uint8Array"),
    ("Experiment.join({ name: {} })", "got name of type object, wanted a string"),
    ("Experiment.join({ log: 1 })", "got log of type number, wanted a function"),
    ("Experiment.join({ signal: {} })", "got signal of type object, wanted an Abort"),
    ("Experiment.join({ connectTimeoutS: '1' })", "got connectTimeoutS of type string, wanted"),
]


def test_wrong_arguments_are_refused_with_the_right_ones(tmp_path: Path) -> None:
    """Not by JavaScript's own TypeErrors; nothing is sent."""
    calls = "".join(f"await refused(() => {call});\n" for call, _ in WRONG)
    results = results_with_peers(
        tmp_path,
        """
await rl.init();
async function refused(call) {
  try { await call(); results.push("nothing"); } catch (error) { results.push(error.message); }
}
"""
        + calls,
    )
    for (call, wanted), got in zip(WRONG, results, strict=True):
        assert got.startswith(wanted), call


def test_who_leaves_does_not_wait_for_a_call_that_does_not_end(tmp_path: Path) -> None:
    """RL_init would wait for an agent and an environment for a day."""
    began = time.monotonic()
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
    assert time.monotonic() - began < PATIENCE_S


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
