"""Imports grpc with the settings that Reglue was measured with.

Import grpc from here: the experiments are read once, when grpc is first loaded.
"""

from __future__ import annotations

import os

os.environ.setdefault("GRPC_EXPERIMENTS", "-event_engine_client,-event_engine_listener")

os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # our own errors say what a user can act on

import grpc

from reglue.wire.sizes import HUB_MESSAGE_BYTES

MESSAGE_S = 300
"""Seconds that a message may take to arrive: the answer to a ping waits behind it.

As long as an agent's first step may take by default. More would leave a stopped peer unnoticed.
"""


def channel_options(max_message_bytes: int) -> list[tuple[str, int]]:
    """Options of both ends: finite messages, and keepalive that agrees.

    20 s after the last message a peer is pinged. If its host takes no bytes, it is lost 20 s
    later, by the kernel's TCP_USER_TIMEOUT, which gRPC sets to the keepalive timeout. If it does,
    the peer has MESSAGE_S to answer: a long message may be before the ping.
    """
    return [
        ("grpc.max_send_message_length", max_message_bytes),
        ("grpc.max_receive_message_length", max_message_bytes),
        ("grpc.keepalive_time_ms", 20_000),
        ("grpc.keepalive_timeout_ms", 20_000),
        ("grpc.http2.ping_timeout_ms", 1000 * MESSAGE_S),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
        ("grpc.http2.max_pings_without_data", 0),
    ]


__all__ = ["HUB_MESSAGE_BYTES", "MESSAGE_S", "channel_options", "grpc"]
