"""Configs: JSON that describes an environment. Values may be drawn, or interpolated."""

from env_adapters.environment_configs.distributions import check_distributions, sample
from env_adapters.environment_configs.interpolation import check_interpolation, interpolate
from env_adapters.environment_configs.values import JSON

__all__ = ["JSON", "check_distributions", "check_interpolation", "interpolate", "sample"]
