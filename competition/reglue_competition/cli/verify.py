"""`reglue verify`: whether the score in a transcript stands."""

from __future__ import annotations

import json as json_text
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.progress import Progress
from typer import Argument, Exit, Option

from glue_server.commands.command import FAULTS, Command
from glue_server.console import console, say
from reglue.errors import UsageError
from reglue.tools.loading_modules import loading
from reglue_bench.cli.shared_flags import AsJson, print_document

if TYPE_CHECKING:
    from reglue_competition.phases import PhaseReveal
    from reglue_competition.transcript.contents import Header
    from reglue_competition.transcript.verification import Verdict

_KEY_DIGITS = 64
_NOT_REPLAYED = 3  # exit code


def verify(
    transcript: Annotated[
        Path | None, Argument(metavar="FILE", help="a run's transcript, run.reglue")
    ] = None,
    key: Annotated[
        str | None,
        Option(
            metavar="HEX",
            help="the organiser's public key, as the competition's page shows it; without it the "
            "signer is not known: anybody may change a file, and sign it with a key of their own",
        ),
    ] = None,
    plan: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="what the phase played, reveal.json, which the organiser publishes after it",
        ),
    ] = None,
    commitment: Annotated[
        str | None,
        Option(metavar="HEX", help="what was published before the phase; goes with --plan"),
    ] = None,
    episodes: Annotated[
        int | None, Option(min=1, help="play only so many, drawn at random (default: all)")
    ] = None,
    workers: Annotated[
        int | None,
        Option(min=0, help="processes that play (default: one for each core; 0: this one)"),
    ] = None,
    folder: Annotated[
        Path | None,
        Option(
            metavar="FOLDER",
            help="what files of environments are relative to: the competition's folder (default: "
            "the current one)",
        ),
    ] = None,
    trust_code: Annotated[
        bool,
        Option(
            "--trust-code",
            help="run environments that are not Reglue's own, which the file names: they are other "
            "people's code, and run as you",
        ),
    ] = False,
    json: AsJson = False,
) -> None:
    """Play a competition's run again without its agent, and say whether its score stands.

    reglue verify run.reglue --key 3f0a…

    reglue verify run.reglue --plan reveal.json --commitment 9c41…

    Checked are the chain of records and the signature; every episode, to the bit, by its recorded
    actions in this machine's environments; and the score, computed again from the episodes. What
    does not stand is named: the record, or the first step that differs.

    Without the code of its environments, as of hidden tasks, without --trust-code for it, or if
    they are not repeatable, nothing is replayed. The rest is checked: chain, signature and key,
    that each episode is the plan's, that rewards add up to returns and these to the score, and plan
    and commitment. It says SIGNED, NOT REPLAYED then.

    Exit codes: 0 the score stands; 1 it does not; 2 wrong usage; 3 signed, not replayed;
    130 interrupted.
    """
    with loading():
        from reglue_bench.engines.run_environments import cores
        from reglue_competition.transcript.verification import check_plan
        from reglue_competition.transcript.verification import verify as verify_transcript

    revealed = _revealed(plan, commitment)
    if transcript is None:
        if revealed is None:
            raise UsageError(got="no file", wanted="a transcript, or --plan with --commitment")
        say("the plan is what was committed to")
        return
    output = console(stderr=json)
    with Progress(console=output, transient=True, disable=not output.is_terminal) as progress:
        task = progress.add_task(transcript.name, total=None)
        verdict = verify_transcript(
            transcript,
            public_key=None if key is None else _key(key),
            folder=folder,
            workers=cores() if workers is None else workers,
            episodes=episodes,
            trust_code=trust_code,
            watcher=lambda done, total: progress.update(task, completed=done, total=total),
        )
    if revealed is not None:
        verdict = check_plan(verdict, revealed, folder=folder, trust_code=trust_code)
    if json:
        print_document(json_text.dumps(_as_json(verdict, revealed), indent=1))
    else:
        _print(verdict, revealed)
    if not verdict.stands:
        raise Exit(FAULTS if verdict.problem else _NOT_REPLAYED)


main = Command(verify)


def _key(digits: str) -> bytes:
    try:
        key = bytes.fromhex(digits)
    except ValueError:
        key = b""
    if 2 * len(key) != _KEY_DIGITS:
        raise UsageError(got=f"--key {digits}", wanted=f"{_KEY_DIGITS} hexadecimal digits")
    return key


def _revealed(plan: Path | None, commitment: str | None) -> PhaseReveal | None:
    from reglue_competition.phases import check_reveal

    if plan is None and commitment is None:
        return None
    if plan is None or commitment is None:
        raise UsageError("--plan FILE and --commitment HEX go together: give both, or neither")
    return check_reveal(plan, commitment)


def _print(verdict: Verdict, revealed: PhaseReveal | None) -> None:
    if verdict.header is not None:
        for line in _checks(verdict, verdict.header):
            say(line)
    if verdict.problem:
        say(f"DOES NOT STAND: {verdict.problem}")
        return
    if revealed is not None:
        say("its plan is what was committed to")
    whose = "" if verdict.key_known else ", but its signer is unknown"
    word = "STANDS" if verdict.stands else "SIGNED, NOT REPLAYED"
    say(f"{word}{whose}: {verdict.result}")


def _checks(verdict: Verdict, header: Header) -> Iterator[str]:
    """The content of the file, and the extent of the checks, as lines."""
    of = f"benchmark {header.index} of phase {header.phase} of {header.competition}"
    draw = f", on goals and episodes of its own (draw {header.draw})" * bool(header.draw)
    yield f"team {header.team}, submission {header.submission}: {of}{draw}"
    if verdict.is_signed:
        whose = "--key" if verdict.key_known else "not known: give the organiser's by --key HEX"
        yield f"signed by {header.public_key} ({whose})"
    sample = f", of {verdict.selected:,} drawn at random" * (verdict.selected < verdict.episodes)
    not_replayable = f"; {verdict.not_replayable:,} have no actions to replay" * bool(
        verdict.not_replayable
    )
    exact = f"{verdict.replayed:,} of {verdict.episodes:,} episodes replayed exactly"
    if verdict.not_replayed is not None:
        yield f"not replayed: {verdict.not_replayed.with_flags()}"
    else:
        yield f"{exact}{sample}{not_replayable}"
    if verdict.result is not None and (later := verdict.result.episodes_retried):
        yield f"{later:,} episodes are of a second or later try: the run was killed in mid-episode"
    yield f"recorded with {', '.join(' '.join(each) for each in header.versions.items())}"
    if verdict.changes:
        yield f"here: {'; '.join(verdict.changes)}"


def _as_json(verdict: Verdict, revealed: PhaseReveal | None) -> dict[str, Any]:
    header, result, why = verdict.header, verdict.result, verdict.not_replayed
    names = ("competition", "phase", "submission", "draw", "team", "agent", "index", "public_key")
    of_verdict = ("is_signed", "key_known", "episodes", "selected", "replayed", "not_replayable")
    return {
        "stands": verdict.stands,
        "problem": verdict.problem,
        "not_replayed": "" if why is None else why.with_flags(),
        **{name: None if header is None else getattr(header, name) for name in names},
        **{name: getattr(verdict, name) for name in of_verdict},
        "plan_checked": revealed is not None and not verdict.problem,
        "score": None if result is None else result.score.value,
        "interval95": None if result is None else result.interval95,
        "versions": None if header is None else dict(header.versions),
        "changes": list(verdict.changes),
    }
