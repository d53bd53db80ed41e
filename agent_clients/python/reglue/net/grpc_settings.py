"""Imports grpc with the settings that Reglue was measured with.

Import grpc from here: the experiments are read once, when grpc is first loaded.
"""

from __future__ import annotations

import os

os.environ.setdefault("GRPC_EXPERIMENTS", "-event_engine_client,-event_engine_listener")

os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # our own errors say what a user can act on

import grpc

HUB_MESSAGE_BYTES = 64 * 1024 * 1024
"""Largest message of a hub, either way; a larger spec × slots is refused at Init."""


def channel_options(max_message_bytes: int) -> list[tuple[str, int]]:
    """Options of both ends: finite messages, and keepalive that agrees.

    A peer that is stopped, or whose host is gone, is lost after 20 to 40 s: 20 s after the last
    message it is pinged, and has 20 s to answer.
    """
    return [
        ("grpc.max_send_message_length", max_message_bytes),
        ("grpc.max_receive_message_length", max_message_bytes),
        ("grpc.keepalive_time_ms", 20_000),
        ("grpc.keepalive_timeout_ms", 20_000),
        ("grpc.http2.ping_timeout_ms", 20_000),  # else a minute, whatever the line above says
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
        ("grpc.http2.max_pings_without_data", 0),
    ]


__all__ = ["HUB_MESSAGE_BYTES", "channel_options", "grpc"]
