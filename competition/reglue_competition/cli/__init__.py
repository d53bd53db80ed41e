"""The commands `reglue competition` and `reglue verify`."""
