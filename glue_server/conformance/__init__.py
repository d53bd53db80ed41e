"""Plays the glue's side of the protocol with a client, and tells whether it keeps the rules.

`proto/CONFORMANCE.md` says what is asked of a client. `reglue conformance` is the command.
"""
