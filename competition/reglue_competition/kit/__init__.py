"""The starter kit that an organiser gives to teams."""

from reglue_competition.kit.starter_kit import write_kit

__all__ = ["write_kit"]
