"""RL-Glue's routines over one agent and one environment."""
