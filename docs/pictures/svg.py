"""The parts of the pictures: boxes, words and arrows of an SVG."""

from __future__ import annotations

from xml.sax.saxutils import escape

INK, FAINT, RED, BLUE = "#1f2933", "#7b8794", "#c2410c", "#1d4ed8"
EPISODES = ("#dbeafe", "#fef3c7", "#dcfce7", "#fae8ff")  # a colour for each episode of a column


class Drawing:
    """Boxes, words and arrows on white."""

    def __init__(self, width: float, height: float, says: str) -> None:
        self._head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" role="img" '
            'font-family="system-ui, -apple-system, Segoe UI, Roboto, sans-serif">\n'
            f"<title>{escape(says)}</title>\n"
            f'<rect width="{width}" height="{height}" fill="white"/>\n'
        )
        self._parts: list[str] = []

    def box(
        self, x: float, y: float, width: float, height: float, *, fill: str, dashed: bool = False
    ) -> None:
        """A box with a border; a dashed one is no row of its own."""
        border = f'stroke="{INK}" stroke-width="1"'
        dashes = ' stroke-dasharray="4 3"' if dashed else ""
        self._parts.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="4" fill="{fill}" '
            f"{border}{dashes}/>"
        )

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        size: int = 13,
        color: str = INK,
        anchor: str = "middle",
        bold: bool = False,
    ) -> None:
        """Words whose baseline is at y; `anchor` is start, middle or end."""
        weight = ' font-weight="600"' if bold else ""
        self._parts.append(
            f'<text x="{x}" y="{y}" font-size="{size}" fill="{color}" '
            f'text-anchor="{anchor}"{weight}>{escape(words)}</text>'
        )

    def arrow(
        self,
        x: float,
        y: float,
        to_x: float,
        to_y: float,
        *,
        color: str = INK,
        dashed: bool = False,
    ) -> None:
        """From one point to another, with a head."""
        dashes = ' stroke-dasharray="4 3"' if dashed else ""
        self._parts.append(
            f'<line x1="{x}" y1="{y}" x2="{to_x}" y2="{to_y}" stroke="{color}" '
            f'stroke-width="1.5"{dashes} marker-end="url(#{_HEADS[color]})"/>'
        )

    def cross(self, x: float, y: float) -> None:
        """A cross where something is dropped."""
        for end in (5, -5):
            self._parts.append(
                f'<line x1="{x - 5}" y1="{y - end}" x2="{x + 5}" y2="{y + end}" stroke="{RED}" '
                'stroke-width="2"/>'
            )

    def __str__(self) -> str:
        heads = "".join(
            f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
            f'markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="{color}"/></marker>'
            for color, name in _HEADS.items()
        )
        return self._head + f"<defs>{heads}</defs>\n" + "\n".join(self._parts) + "\n</svg>\n"


_HEADS = {INK: "ink", RED: "red", BLUE: "blue", FAINT: "faint"}
