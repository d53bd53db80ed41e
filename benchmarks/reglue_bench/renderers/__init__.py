"""Renderers print, plot and describe each measure."""

from __future__ import annotations

from env_adapters.named_objects import Registry
from reglue_bench.renderers.performance_renderer import PERFORMANCE
from reglue_bench.renderers.renderer import Renderer
from reglue_bench.renderers.returns_renderer import RETURN
from reglue_bench.renderers.seeded_returns_renderer import SEEDED_RETURN
from reglue_bench.renderers.success_renderer import SUCCESS
from reglue_bench.results.result import Result

__all__ = [
    "PERFORMANCE",
    "RENDERERS",
    "RETURN",
    "SEEDED_RETURN",
    "SUCCESS",
    "Renderer",
    "renderer_of",
]

RENDERERS: Registry[Renderer] = Registry(
    "renderer",
    "reglue.renderers",
    {
        "success": SUCCESS,
        "return": RETURN,
        "seeded-return": SEEDED_RETURN,
        "performance": PERFORMANCE,
    },
    Renderer,
)
"""By the names of measures."""


def renderer_of(result: Result) -> Renderer:
    """The renderer of the result's measure."""
    return RENDERERS[result.measured_by]
