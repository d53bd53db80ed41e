"""`reglue cache`: the cache on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from rich.filesize import decimal
from rich.table import Table
from rich.text import Text
from typer import Argument

from glue_server.commands.command import Command
from glue_server.console import console, say
from reglue.tools.loading_modules import loading

if TYPE_CHECKING:
    from env_adapters.disk_cache import DiskCache


def cache(
    action: Annotated[Literal["info", "clear"], Argument(help="show it, or empty it")] = "info",
) -> None:
    """Show or clear the cache on disk: compiled models and settled states of Meta-World.

    Clearing it costs only time. Entries of other versions of the packages, or of another
    processor, are not used. REGLUE_CACHE_DIR names another folder; if it is empty, nothing is
    cached.

    reglue cache

    reglue cache clear

    Exit codes: 0 done; 2 wrong usage; 130 interrupted.
    """
    with loading():
        from env_adapters.disk_cache import DiskCache, cache_folder

    disk_cache = DiskCache(cache_folder())
    if disk_cache.folder is None:
        say("Nothing is cached: REGLUE_CACHE_DIR is empty, or there is no home folder.")
    elif action == "clear":
        cleared = disk_cache.clear()
        say(
            f"Deleted {cleared.entries:,} entries, {decimal(cleared.size_bytes)}, "
            f"of {disk_cache.folder}."
        )
    else:
        console().print(_table(disk_cache))


main = Command(cache)


def _table(disk_cache: DiskCache) -> Table:
    usage = disk_cache.usage()
    table = Table(title="cache", show_header=False)
    table.add_row("folder", Text(str(disk_cache.folder)))
    table.add_row("entries", f"{usage.entries:,}")
    table.add_row(
        "size", f"{decimal(usage.size_bytes)} of at most {decimal(disk_cache.limit_bytes)}"
    )
    table.caption = "`reglue cache clear` empties it"
    return table
