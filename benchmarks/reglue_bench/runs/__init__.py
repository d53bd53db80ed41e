"""Plays a plan and keeps what was played."""
