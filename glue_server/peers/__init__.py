"""Where agents, environments and programs come from."""
