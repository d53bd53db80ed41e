"""Plays the glue for a client, and reports which rules of the protocol the client breaks.

`proto/CONFORMANCE.md` lists the requirements for a client. `reglue conformance` is the command.
"""
