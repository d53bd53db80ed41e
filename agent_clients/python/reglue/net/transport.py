"""What a session may be carried by."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

Transport: TypeAlias = Literal["auto", "grpc", "unix"]
"""`unix`: a Unix socket only; `auto`: a Unix socket if both ends are on one host, else gRPC."""

TRANSPORTS: tuple[Transport, ...] = get_args(Transport)
