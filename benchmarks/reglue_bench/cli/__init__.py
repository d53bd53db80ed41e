"""The commands of this package; each is an entry point of `reglue.commands`."""
