"""The certificates of servers over TLS, and the authorities that sign them."""
