"""`reglue competition appeals` and `answer`: what teams say is wrong, and what they are told."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from glue_server.console import say
from reglue.errors import printable
from reglue_bench.cli.arguments import AsJson
from reglue_competition.cli.common import Folder, date, print_json
from reglue_competition.competition_folder import CompetitionFolder
from reglue_competition.export import plain


def appeals(
    folder: Folder,
    all_: Annotated[bool, Option("--all", help="also those that were answered")] = False,
    json: AsJson = False,
) -> None:
    """Show the appeals of teams that wait for an answer, the oldest first.

    Teams file them on the competition's page, against submissions of theirs that have ended.

    reglue competition appeals my-comp

    Exit codes: 0 shown; 1 the database is away; 2 wrong usage; 130 interrupted.
    """
    with CompetitionFolder.read(folder).store() as store:
        found = [each for each in store.appeals() if all_ or each.is_open]
    if json:
        print_json([plain(each) for each in found])
        return
    for each in found:
        say(f"{each.id}: {each.team}, {each.submission}, {date(each.at)} UTC")
        say(_indented(each.text))
        if not each.is_open:
            say(f"answered {date(each.answered_at)} UTC")
            say(_indented(each.answer))
    if not found:
        say("no appeals" if all_ else "no appeal waits for an answer")


def answer(
    folder: Folder,
    appeal: Annotated[int, Argument(metavar="APPEAL", help="its number, as `appeals` shows it")],
    text: Annotated[str, Argument(metavar="TEXT", help="what the team reads")],
) -> None:
    """Answer an appeal, which closes it. The team reads the answer on the page.

    reglue competition answer my-comp 117 "You are right: it was our fault. It is played again."

    Exit codes: 0 answered; 1 the database is away; 2 wrong usage; 130 interrupted.
    """
    with CompetitionFolder.read(folder).store() as store:
        store.answer_appeal(appeal, text)
    say(f"appeal {appeal} is answered")


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in printable(text).splitlines())
