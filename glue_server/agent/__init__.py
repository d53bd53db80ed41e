"""The agent's side of a run: its port, calls, slots and time."""
