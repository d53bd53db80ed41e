"""The report: one HTML page about a run, or about several that are compared; tables for papers."""
