"""Sources of agents, environments and programs."""
