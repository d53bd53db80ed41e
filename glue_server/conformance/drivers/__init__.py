"""What the kit sends to a client of each role, and what it expects."""
