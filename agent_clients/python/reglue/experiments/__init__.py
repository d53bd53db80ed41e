"""Benchmark programs: RL-Glue's routines, over slots."""
