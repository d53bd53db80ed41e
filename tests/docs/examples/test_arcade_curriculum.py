"""The curriculum of the examples draws its first frames, and is played."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from docs.examples.arcade_curriculum import main


def test_every_episode_has_a_frame_and_is_played(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["--out", str(tmp_path / "frames.png"), "--steps", "3"])
    said = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in said] == [f"episode {k}" for k in range(16)]
    frames = np.asarray(Image.open(tmp_path / "frames.png"))
    assert frames.shape == (2 * 84, 8 * 84, 3)
    drawn = Image.open(Path(__file__).parents[3] / "docs/assets/gallery/curriculum.png")
    assert np.array_equal(frames, np.asarray(drawn))
