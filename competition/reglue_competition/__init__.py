"""Competitions: hidden tasks, many teams, scores that nobody can dispute."""
