"""How a run scales: what its coordinator sustains, and what nodes of a Ray cluster add."""
