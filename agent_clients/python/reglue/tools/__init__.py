"""The `reglue join` command, and loading what it names."""
