"""Measurements of Reglue beside its peers: `make speed`. Not shipped."""
