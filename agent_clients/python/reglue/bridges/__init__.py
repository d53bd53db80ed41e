"""Bridges to other protocols: ordinary environments, agents and programs of the SDK."""
