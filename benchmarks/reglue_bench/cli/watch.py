"""`reglue watch`: see what was played."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.progress import Progress
from typer import Argument, Exit, Option

from glue_server.commands.command import FAULTS, OK, Command
from glue_server.console import console, say
from reglue.errors import UsageError
from reglue.tools.loading_modules import loading
from reglue_bench.cli.shared_flags import TrustCode

if TYPE_CHECKING:
    from reglue_bench.replay import Recorded, Replay


def watch(
    run: Annotated[Path, Argument(metavar="FOLDER", help="folder of a run")],
    episode: Annotated[int | None, Option(min=0, help="the episode's number, from 0")] = None,
    unit: Annotated[
        int | None,
        Option(
            min=0,
            help="number of the run (online) or wave (meta-learning) that holds the episode, from "
            "0 (default 0). In multi-task runs each episode is a unit",
        ),
    ] = None,
    video: Annotated[
        Path | None, Option(metavar="FILE.mp4", help="write a video instead of showing it")
    ] = None,
    every: Annotated[
        bool, Option("--all", help="write a video of each episode that was judged into --out")
    ] = False,
    out: Annotated[
        Path | None, Option(metavar="FOLDER", help="with --all: the folder of the videos")
    ] = None,
    fps: Annotated[float, Option(help="pictures per second")] = 30.0,
    trust_code: TrustCode = False,
) -> None:
    """Watch a recorded episode, played again from its cell and actions.

    A terminal shows pictures if the environment has any: observations that are pictures, or what
    Gymnasium, Meta-World or a world's own `render` draws. Otherwise it prints a line for each step.

    reglue watch runs/pong --episode 3

    reglue watch runs/pong --unit 4 --episode 199 --video last.mp4

    reglue watch runs/mt10 --episode 12 --video reach.mp4

    reglue watch runs/mt10 --all --out videos

    Videos that are in the folder already stay, so a command that was stopped goes on. Without a
    display, MuJoCo draws by EGL or OSMesa where one of them is installed; MUJOCO_GL=egl or osmesa
    chooses.

    The replay checks itself: rewards (if the run keeps them), steps, return and success must equal
    the recorded ones, to the bit. It prints "replayed exactly", or where it differs and which
    versions have changed since.

    Exit codes: 0 replayed exactly; 1 it differs; 2 wrong usage; 130 interrupted.
    """
    with loading():
        from reglue.environments.world import close_suite
        from reglue_bench.formatting import number
        from reglue_bench.replay import Replay, read_episode, with_pictures

    if not 0.01 <= fps <= 1000:
        raise UsageError(got=f"--fps {fps}", wanted="a number from 0.01 to 1000")
    if every:
        if out is None or not (episode is None and unit is None and video is None):
            raise UsageError("--all goes with --out FOLDER, and names no episode or video")
        raise Exit(_write_all(run, out, fps, trust_code=trust_code))
    if out is not None:
        raise UsageError("--out goes with --all; --video FILE.mp4 names the video of one episode")
    if episode is None:
        raise UsageError("--episode N is missing, its number from 0; or --all --out FOLDER")
    recorded = read_episode(run, episode, unit, trust_code=trust_code)
    with ExitStack() as closing:
        suite = with_pictures(recorded.suite)
        closing.callback(close_suite, suite)
        replay = Replay(recorded, suite)
        closing.callback(replay.close)
        if video is not None:
            _write(replay, recorded, video, fps)
        elif console().is_terminal and not console().is_dumb_terminal:
            _show(replay, recorded, fps)
        else:
            _list(replay, recorded)
    row = recorded.row
    success = ", success" if row.success else ""
    say(f"replayed exactly: return {number(row.return_)} in {row.steps:,} steps{success}")
    if video is not None:
        say(str(video))


main = Command(watch)


def _write(replay: Replay, recorded: Recorded, path: Path, fps: float) -> None:
    with _bar() as progress:
        task = progress.add_task(str(path), total=recorded.row.steps)
        _draw(replay, recorded, path, fps, lambda step: progress.update(task, completed=step))


def _write_all(run: Path, folder: Path, fps: float, *, trust_code: bool) -> int:
    """The exit code. An episode that is not replayed exactly has no video, and is named."""
    from reglue.environments.world import close_suite
    from reglue.errors import EnvironmentFault
    from reglue_bench.replay import Replay, read_episode, with_pictures
    from reglue_bench.results.episodes import Episodes

    played = [each for each in Episodes(run) if each.steps]
    # Of a run that learns while it is judged none is of that phase, and all are judged.
    rows = [each for each in played if each.phase == "evaluate"] or played
    if not rows:
        raise UsageError(f"{run} has no episode of one step or more")
    folder.mkdir(parents=True, exist_ok=True)
    faults, suite = 0, None
    with ExitStack() as closing:
        progress = closing.enter_context(_bar())
        task = progress.add_task(str(folder), total=len(rows))
        for row in rows:
            name = re.sub(r"[^\w.-]+", "-", f"{row.unit}-{row.k}-{row.task}-{row.variant}")
            path = folder / f"{name}.mp4"
            if not path.exists():
                recorded = read_episode(run, row.k, row.unit, trust_code=trust_code)
                if suite is None:
                    suite = with_pictures(recorded.suite)
                    closing.callback(close_suite, suite)
                replay = Replay(recorded, suite)
                try:
                    _draw(replay, recorded, path, fps)
                except EnvironmentFault as error:
                    say(f"{path.name}: {error}")
                    faults += 1
                finally:
                    replay.close()
            progress.advance(task)
    say(f"{len(rows) - faults} of {len(rows)} episodes are in {folder}")
    return FAULTS if faults else OK


def _bar() -> Progress:
    output = console()
    return Progress(console=output, transient=True, disable=not output.is_terminal)


def _draw(
    replay: Replay,
    recorded: Recorded,
    path: Path,
    fps: float,
    watcher: Callable[[int], None] = lambda _step: None,
) -> None:
    """Play the episode again into a video. Raises UsageError, EnvironmentFault."""
    from reglue_bench.replay import Camera
    from reglue_bench.replay.video import video as writing

    camera = Camera(replay.spec, replay.world)
    with writing(path, fps) as frames:
        for moment in replay.moments():
            picture = camera.take(moment.observation)
            if picture is None:
                raise UsageError(
                    f"{recorded.plan.benchmark} has no pictures: its observations are no pictures, "
                    "and its world has no render() that draws; without a video there are numbers"
                )
            frames.add(picture)
            watcher(moment.step)


def _show(replay: Replay, recorded: Recorded, fps: float) -> None:
    """Show pictures, or lines if there are none."""
    from reglue_bench.replay import Camera
    from reglue_bench.replay.screen import Screen

    camera, moments = Camera(replay.spec, replay.world), replay.moments()
    first = next(moments)
    try:
        picture = camera.take(first.observation)
    except UsageError as error:
        say(f"no pictures: {error}")
        picture = None
    if picture is None:
        _list(replay, recorded)
        return
    title, steps = recorded.title, recorded.row.steps
    with Screen(console(), title, steps=steps, fps=fps) as screen:
        screen.show(first, picture)
        for moment in moments:
            taken = camera.take(moment.observation)
            picture = picture if taken is None else taken
            screen.show(moment, picture)


def _list(replay: Replay, recorded: Recorded) -> None:
    from reglue_bench.replay.screen import HEAD, line

    say(recorded.title)
    say(HEAD)
    for moment in replay.moments():
        say(line(moment))
