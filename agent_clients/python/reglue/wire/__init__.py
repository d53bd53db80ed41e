"""Converts Reglue's values from and to protobuf messages. No other package uses both."""
