"""What a server shows over TLS, and the authorities that sign it."""
