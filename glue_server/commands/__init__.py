"""`reglue glue` and `reglue conformance`."""
