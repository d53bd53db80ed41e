"""Environments that are written in JAX, and the package gymnax."""
