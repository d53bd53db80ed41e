"""`reglue competition`: host a competition."""

from __future__ import annotations

from glue_server.commands.command import Commands
from reglue_competition.cli.database_export import events, export
from reglue_competition.cli.decisions import (
    allow,
    answer,
    appeals,
    cancel,
    close,
    news,
    open_,
    reopen,
    replay,
    reveal,
    ruling,
    videos,
    void,
)
from reglue_competition.cli.operations import backup, certificate, migrate, restore, serve
from reglue_competition.cli.preparation import admit, check, init, kit
from reglue_competition.cli.status import runs, status
from reglue_competition.cli.submit import advance, images, repeat, submit
from reglue_competition.cli.teams import team
from reglue_competition.cli.tokens import token

main = Commands(
    "competition",
    "Host a competition: hidden tasks, many teams, scores that nobody can dispute.\n\n"
    "A competition is one folder, which `init` makes. All commands work while its server runs, "
    "and without it. One after another, from the folder to its first team:\n\n"
    "reglue competition init my-comp --title 'My competition' --address 127.0.0.1:4096\n\n"
    "reglue competition check my-comp --draw\n\n"
    "reglue competition team add my-comp 'Team A'\n\n"
    "reglue competition serve my-comp\n\n"
    "Exit codes: 0 success; 1 the database is away, or a disk full; 2 wrong usage; "
    "130 interrupted.",
    [
        init,
        check,
        admit,
        kit,
        serve,
        team,
        token,
        certificate,
        status,
        runs,
        open_,
        close,
        reopen,
        reveal,
        videos,
        cancel,
        submit,
        advance,
        repeat,
        images,
        replay,
        allow,
        ruling,
        void,
        appeals,
        answer,
        news,
        events,
        export,
        backup,
        restore,
        migrate,
    ],
)
