"""Renderers: the measures of our procedures, with their texts and plots."""
