"""Videos of a closed phase's submissions, for the page: some episodes of each, played again."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from reglue.environments.world import close_suite
from reglue.errors import EnvironmentFault, UsageError
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import procedure_of
from reglue_bench.replay import Camera, Recorded, Replay, read_episode, with_pictures
from reglue_bench.replay.pictures import Picture, shrunk
from reglue_bench.replay.video import Video, video
from reglue_bench.run_folder import LEDGER
from reglue_bench.runs.ledger import LedgerReader, Row
from reglue_competition.competition_folder import CompetitionFolder
from reglue_competition.store import SCORED, UNFINISHED, Store, Submission

Watch = Callable[[int, int], None]
"""Called with the number of finished videos and the number of all."""

_PAUSE_S = 0.7  # on the last picture of an episode
_MOST_PICTURES = 10_000  # of an episode: the rest of a longer one is not shown


@dataclass(frozen=True, slots=True)
class Trouble:
    """The reason why a video, or a part of one, is missing."""

    text: str
    is_fault: bool  # an episode was not replayed exactly; else its environment has no pictures


@dataclass(frozen=True, slots=True)
class Clip:
    """The video of a submission's run of one benchmark."""

    submission: Submission
    index: int  # of the benchmark in its phase
    run: Path  # its folder
    path: Path  # of the video

    @property
    def is_made(self) -> bool:
        """Whether the video exists and is newer than the run."""
        ended = self.submission.ended_at
        is_there = self.path.is_file()
        return is_there and (ended is None or self.path.stat().st_mtime >= ended.timestamp())

    @property
    def title(self) -> str:
        """The clip in one line, for messages."""
        of = self.submission
        return f"{self.path.name}: {of.team}, {of.name}, benchmark {self.index + 1}"


def clips(folder: CompetitionFolder, store: Store, phase: str) -> list[Clip]:
    """The clips of a phase that is closed and played. Raises UsageError for any other."""
    if phase not in (states := {each.name: each.state for each in store.phases()}):
        raise UsageError(got=f"the phase {phase}", wanted=f"one of {', '.join(states)}")
    if states[phase] != "closed":
        raise UsageError(
            f"phase {phase} is {states[phase]}: close it first, as videos show its goals"
        )
    if unfinished := store.submissions(phase, statuses=UNFINISHED):
        raise UsageError(
            f"{len(unfinished)} submissions of phase {phase} still wait or play: they have to "
            "end first, as videos show its goals"
        )
    of = store.submissions(phase, statuses=SCORED)
    indexes = range(len(store.definition().phase(phase).benchmarks))
    return [
        Clip(each, index, run, folder.replays_path / f"{each.id}-{index}.mp4")
        for each in of
        for index in indexes
        if ((run := folder.runs_path / each.folder / str(index)) / LEDGER).is_file()
    ]


def write_videos(
    wanted: Sequence[Clip], *, episodes: int, fps: float, watcher: Watch
) -> Iterator[Trouble]:
    """Write the videos that are missing; yield why some could not be made.

    Each is written whole or not at all, so an interrupted call can be repeated. Raises
    MissingExtra, and UsageError if the folder cannot be written.
    """
    blind: dict[int, str] = {}  # benchmarks without pictures, and why
    for done, clip in enumerate(wanted):
        watcher(done, len(wanted))
        if clip.is_made or clip.index in blind:
            continue
        try:
            _write(clip, episodes=episodes, fps=fps)
        except NoPictures as error:
            blind[clip.index] = str(error)
            yield Trouble(f"benchmark {clip.index + 1} has no pictures: {error}", is_fault=False)
        except EnvironmentFault as error:
            yield Trouble(f"{clip.title}: {error}", is_fault=True)
    watcher(len(wanted), len(wanted))


class NoPictures(Exception):
    """A benchmark's environment draws no pictures."""


def _write(clip: Clip, *, episodes: int, fps: float) -> None:
    rows = _choose(clip.run, episodes)
    if not rows:
        return
    with video(clip.path, fps) as frames:
        shape: tuple[int, ...] = ()
        for row in rows:
            # It is the organiser's own folder, of environments that this user has played.
            recorded = read_episode(clip.run, row.k, row.unit, trust_code=True)
            picture = None
            with closing(_pictures(recorded)) as pictures:
                for picture in islice(pictures, _MOST_PICTURES):
                    shape = shape or picture.shape
                    frames.add(_fit(picture, shape))
            _hold(frames, picture, shape, round(fps * _PAUSE_S))


def _pictures(recorded: Recorded) -> Generator[Picture]:
    """The pictures of an episode. Raises EnvironmentFault for an inexact replay, and NoPictures."""
    leaving = ExitStack()
    try:
        suite = with_pictures(recorded.suite)
        leaving.callback(close_suite, suite)
        replay = Replay(recorded, suite)
    except UsageError as error:
        leaving.close()
        raise NoPictures(str(error)) from error
    leaving.callback(replay.close)
    with leaving:
        camera = Camera(replay.spec, replay.world)
        for moment in replay.moments():
            try:
                picture = camera.take(moment.observation)
            except UsageError as error:
                raise NoPictures(str(error)) from error
            if picture is None:
                raise NoPictures("its environment does not draw")
            yield picture


def _hold(frames: Video, picture: Picture | None, shape: tuple[int, ...], times: int) -> None:
    if picture is not None:
        for _ in range(times):
            frames.add(_fit(picture, shape))


def _fit(picture: Picture, shape: tuple[int, ...]) -> Picture:
    """Centre a picture in a frame of that shape, and shrink it to fit: tasks differ in size."""
    if picture.shape == shape:
        return picture
    small, frame = shrunk(picture, *shape[:2]), np.zeros(shape, np.uint8)
    top, left = ((whole - part) // 2 for whole, part in zip(shape[:2], small.shape, strict=False))
    frame[top : top + small.shape[0], left : left + small.shape[1]] = small
    return frame


def _choose(run: Path, episodes: int) -> list[Row]:
    """Choose judged episodes, evenly spread; of the first run alone if agents learn."""
    with LedgerReader(run) as ledger:
        procedure = procedure_of(Plan.from_json(ledger.about["plan"]))
        played = [
            (row, procedure.cell(row.unit, row.k).phase)
            for row in ledger.rows()
            if row.steps and not (procedure.counts_steps and row.unit)
        ]
    judged = [row for row, phase in played if phase == "evaluate"]
    rows = judged or [row for row, _ in played]
    last = len(rows) - 1
    places = {round(n * last / max(1, episodes - 1)) for n in range(min(episodes, len(rows)))}
    return [rows[place] for place in sorted(places)]
