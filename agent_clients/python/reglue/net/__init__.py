"""A peer's end of its session with a glue. A peer is a stream and a role.

Read in this order. First the way in:

1. `join_string`: the address, the token and the certificate of a glue.
2. `lobby`: channels of gRPC, and a ticket for a token.

Then streams of a ticket:

3. `streams`: what a stream is; over gRPC. `grpc_settings` has the options.
4. `glue_socket`, `unix_socket` and `adaptive_spin`: over a Unix socket.

Then sessions:

5. `peer`: an agent or an environment, as a session sees it; `reglue.wire.roles` has the messages.
6. `session`: one of those, which answers calls; `experiment_session`: a program, which asks. Both
   come back after a stream broke: `reconnect` says when.
7. `log`: the log of a session, and the trace of its calls.

Beside them `project_archive` and `upload` hand an agent in.
"""
