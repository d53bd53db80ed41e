"""The pictures of rollouts show what the code does."""

from __future__ import annotations

import re
from pathlib import Path

from docs.pictures.rollouts import FOLDER, pictures

DOCS = Path(__file__).parents[3] / "docs"


def test_the_pictures_are_those_that_the_program_draws() -> None:
    """If not: `python -m docs.pictures.rollouts`."""
    drawn = pictures()
    assert {path.stem for path in FOLDER.glob("*.svg")} == set(drawn)
    for name, picture in drawn.items():
        assert (FOLDER / f"{name}.svg").read_text(encoding="utf-8") == picture, name


def test_every_picture_is_shown() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md"))
    assert set(re.findall(r"assets/rollouts/([\w-]+)\.svg", text)) == set(pictures())
