"""The glue's server over gRPC: no other package of the server uses gRPC.

A peer is a stream and a role. `reglue.wire.roles` has the roles: names, messages, methods. Read in
this order. First one peer, from the bytes up:

1. `peer_streams`: a stream, over gRPC or a Unix socket: send, receive by a deadline, and the
   descriptor by which it is awaited.
2. `server_session`: a peer's session, which outlives its streams; and a benchmark program's, whose
   calls the glue answers.
3. `peer_codecs`: the calls to an agent and to an environment as messages, and their answers.
4. `stream_port`: an agent's or an environment's session. It sends calls, and waits for answers.

Then who gets one:

5. `admission`: lobbies, which check tokens, give tickets and count places.
6. `services`: the session that a hello begins, by role; and streams of gRPC, from the hello to the
   last message.
7. `unix_listener`: the same for Unix sockets, and the folder that they are in.

Then the server:

8. `handlers`: the threads of gRPC's calls, and limits for unknown callers.
9. `tls`: `server_certificate` is what a server shows, `authority` makes it, `server_tls` chooses.
10. `server`: `Listener`, what all servers share; and `GlueServer`, which admits peers.
11. `reflection` and `healthy`: for grpcurl and for the health checks of containers.

Last `gateways`, ports of many runs, each a process of its own: `run_link`, and `run_gateway` for a
hub; then `entries`, `join_limits`, `archive_calls`, `waiting_stream` and `agent_gateway` for the
queue of a competition.
"""

import reglue.net.grpc_settings  # noqa: F401, I001 - first: grpc reads them when it is loaded

from glue_server.rpc.admission import PrivateLobby
from glue_server.rpc.server import GlueServer

__all__ = ["GlueServer", "PrivateLobby"]
