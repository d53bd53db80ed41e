"""A console of rich's that shows all of a name, and no control characters of others."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table

from reglue.error_message import printable


class PrintableConsole(Console):
    """Removes control characters from everything that is printed: names may be a stranger's.

    Cells of tables that are too narrow for a word break it, where rich would cut off its end.
    """

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """Render like rich; its own control codes and styles stay."""
        if isinstance(renderable, Table):
            for column in renderable.columns:
                column.overflow = column.overflow if column.no_wrap else "fold"
        for each in super().render(renderable, options):
            yield each if each.control else each._replace(text=printable(each.text))
