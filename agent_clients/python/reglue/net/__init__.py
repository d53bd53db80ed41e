"""Connections: join strings, channels, sockets and sessions."""
