"""A submission in a process of its own: it plays the benchmarks of a phase in one session.

`python -m reglue_competition.runs.process.submission_process FD PARENT` reads its settings from the
inherited socket FD. It sends there where its agent joins, how far it has come and how each run
ended. The agent is let go only when the parent has stored how the submission ended: if a process
dies before that, the submission is resumed from its ledgers.
"""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from glue_server.processes.child import ParentGone, inherited_channel
from glue_server.processes.message_codec import unexpected
from glue_server.processes.sandboxes.container import lacks_engine
from reglue.errors import (
    ContainerEngineFailed,
    UsageError,
)
from reglue_competition.runs.logs import log_to_stderr
from reglue_competition.runs.process.submission_parent import ANSWER_S, SubmissionParent
from reglue_competition.runs.process.submission_play import SubmissionPlay
from reglue_competition.runs.process.submitted_agent import forget_files, rehearsed, served_agent
from reglue_competition.runs.submission import (
    TO_SUBMISSION,
    Ended,
    LetGo,
    Listening,
    SubmissionSettings,
    run_folder,
)

log = logging.getLogger("reglue")


def main() -> NoReturn:
    """Play one submission."""
    parent = SubmissionParent(inherited_channel(TO_SUBMISSION))
    try:
        settings = parent.receive(ANSWER_S)
        if not isinstance(settings, SubmissionSettings):
            raise unexpected(settings)
        whose = {"team": settings.team, "submission": settings.submission}
        log_to_stderr(whose)
        _serve(settings, parent)
    except ParentGone as gone:
        if gone.args:
            log.error("the server did not answer: %s", gone)
    except Exception:
        log.exception("a submission's process failed")
    # Without a farewell that was not said yet: the agent comes back when we do.
    os._exit(0)


def _serve(settings: SubmissionSettings, parent: SubmissionParent) -> None:
    image = settings.image
    try:
        if image is not None and not run_folder(Path(settings.folder), 0).exists():
            failed = rehearsed(settings)
            if failed is not None:
                parent.send(failed)
                _let_go(parent)
                forget_files(settings, image)
                return
        server, agent = served_agent(settings)
    except UsageError as error:
        log.error("the agent's container cannot be started: %s", error)
        parent.send(_not_started(error))
        _let_go(parent)
        return
    except ContainerEngineFailed as error:
        parent.send(Ended("broken", str(error), again=True))
        _let_go(parent)
        return
    parent.send(Listening(str(server.local_join_string("agent"))))
    ended = SubmissionPlay(settings, parent, agent).play()
    parent.send(replace(ended, used=agent.used))
    farewell = _let_go(parent)
    if farewell or image is not None:
        agent.close(farewell)
        server.close()
    if image is not None:
        forget_files(settings, image)


def _not_started(error: UsageError) -> Ended:
    """The next status of a submission whose image could not be started."""
    if (lack := lacks_engine()) is not None:
        return Ended("waiting", f"its image waits: {lack}")
    return Ended("broken", str(error), again=True)


def _let_go(parent: SubmissionParent) -> str:
    """Wait until the submission's end is stored; the farewell to its agent, if that ends, too."""
    end = parent.receive(ANSWER_S)
    if not isinstance(end, LetGo):
        raise unexpected(end)
    return end.farewell


if __name__ == "__main__":
    main()
