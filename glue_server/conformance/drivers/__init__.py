"""Calls of the kit to a client of each role, and the answers that it expects."""
