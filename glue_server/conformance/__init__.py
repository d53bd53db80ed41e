"""Plays the glue for a client, and reports which rules of the protocol the client breaks.

`proto/CONFORMANCE.md` says what is asked of a client. `reglue conformance` is the command.
"""
