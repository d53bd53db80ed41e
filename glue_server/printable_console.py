"""A console of rich's that shows no control characters of others."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from reglue.error_message import printable


class PrintableConsole(Console):
    """Removes control characters from everything that is printed: names may be a stranger's."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """Render like rich; its own control codes and styles stay."""
        for each in super().render(renderable, options):
            yield each if each.control else each._replace(text=printable(each.text))
