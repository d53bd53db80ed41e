"""Plays a plan's episodes in all slots."""
