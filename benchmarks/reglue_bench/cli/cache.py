"""`reglue cache`: the cache on disk."""

from __future__ import annotations

from typing import Annotated, Literal

from rich.filesize import decimal
from rich.table import Table
from rich.text import Text
from typer import Argument

from env_adapters.disk_cache import DiskCache, cache_folder
from glue_server.commands.command import Command
from glue_server.console import console, say


def cache(
    action: Annotated[Literal["info", "clear"], Argument(help="show it, or empty it")] = "info",
) -> None:
    """Show or clear the cache on disk: compiled models and settled states of Meta-World.

    Clearing it costs only time. Entries of other versions of the packages, or of another
    processor, are not used. REGLUE_CACHE_DIR names another folder; if it is empty, nothing is
    cached.

    Exit codes: 0 done; 2 wrong usage; 130 interrupted.
    """
    kept = DiskCache(cache_folder())
    if kept.folder is None:
        say("Nothing is cached: REGLUE_CACHE_DIR is empty, or there is no home folder.")
    elif action == "clear":
        held = kept.clear()
        say(f"Deleted {held.entries:,} entries, {decimal(held.size_bytes)}, of {kept.folder}.")
    else:
        console().print(_table(kept))


main = Command(cache)


def _table(kept: DiskCache) -> Table:
    usage = kept.usage()
    table = Table(title="cache", show_header=False)
    table.add_row("folder", Text(str(kept.folder), overflow="fold"))
    table.add_row("entries", f"{usage.entries:,}")
    table.add_row("size", f"{decimal(usage.size_bytes)} of at most {decimal(kept.limit_bytes)}")
    table.caption = "`reglue cache clear` empties it"
    return table
