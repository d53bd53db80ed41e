"""Shortens the SVG that Matplotlib writes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree


def tidied(element: ElementTree.Element) -> Iterator[ElementTree.Element]:
    """The element as a page needs it: without unused groups and ids, and with short numbers."""
    tag = element.tag.rpartition("}")[2]
    if tag in ("metadata", "style"):
        return
    inner = [child for each in element for child in tidied(each)]
    attributes = {name.rpartition("}")[2]: value for name, value in element.items()}
    if tag == "g":
        name = attributes.pop("id", "")
        for child in inner if name in ("optional", "row") else ():
            child.set("class", name)
    if tag == "text":
        anchor = re.search(r"text-anchor: (\w+)", attributes.pop("style"))
        if (side := anchor[1] if anchor else "start") != "middle":  # as the whole figure has it
            attributes["text-anchor"] = side
        if attributes["transform"].startswith("rotate(-0 "):
            del attributes["transform"]
    if "style" in attributes:
        attributes["style"] = re.sub("(?<=[:;]) |stroke-dashoffset: 0; ", "", attributes["style"])
    if "d" in attributes and not re.search("[CQ]", attributes["d"]):
        attributes["d"] = _short_outline(attributes["d"])
    digits = 0 if tag == "text" else 1
    for name in {"x", "y", "transform"} & attributes.keys():
        attributes[name] = re.sub(
            r"-?\d+\.\d+", lambda each: f"{float(each[0]):z.{digits}f}", attributes[name]
        )
    if (tag == "g" and not attributes) or (tag in ("g", "defs") and not inner):
        yield from inner
        return
    tidy = ElementTree.Element(tag, attributes)
    tidy.text = element.text if tag == "text" else None
    tidy.extend(inner)
    yield tidy


def _short_outline(outline: str) -> str:
    """The same lines, from each point to the next in tenths of a pixel: half of a large page."""
    short, start, here = "", (0, 0), (0, 0)
    for letter, x, y in re.findall(r"([ML]) (\S+) (\S+)|z", outline):
        point = (round(10 * float(x)), round(10 * float(y))) if letter else start
        across, down = point[0] - here[0], point[1] - here[1]
        if not letter:
            short += "z"
        elif letter == "M":
            short, start = f"{short}m{across / 10:g} {down / 10:g}", point
        elif across and down:
            short += f"l{across / 10:g} {down / 10:g}"
        elif down:
            short += f"v{down / 10:g}"
        elif across or here == start:  # a dot is printed if it has an end
            short += f"h{across / 10:g}"
        here = point
    return re.sub(r"(?<!\d)0\.", ".", short).replace(" -", "-")
