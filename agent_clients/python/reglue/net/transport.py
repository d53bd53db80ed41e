"""What a session may be carried by."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

Transport: TypeAlias = Literal["auto", "grpc", "unix"]
"""`unix` is a lane alone, `auto` a lane where both ends are on one host, else gRPC."""

TRANSPORTS: tuple[Transport, ...] = get_args(Transport)
