"""Agents, environments and experiment programs that speak RL-Glue 3's network protocol."""
