"""Renderers: the texts and plots of each measure, and the notes on every result."""

from __future__ import annotations

from env_adapters.named_objects import imported
from reglue_bench.renderers.renderer import Renderer
from reglue_bench.results.result import Result

__all__ = ["Renderer", "renderer_of"]


def renderer_of(result: Result) -> Renderer:
    """The renderer of the result's measure."""
    renderer: Renderer = imported("renderer", result.measure.shown_by, Renderer)
    return renderer
