"""Ctrl-C, kept waiting where it would do harm."""

from glue_server.interrupts import uninterrupted

__all__ = ["uninterrupted"]
