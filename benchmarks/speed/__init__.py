"""Measures Reglue beside other libraries: `make speed`. Not shipped."""
