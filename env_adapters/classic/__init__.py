"""Environments from a textbook, one file each: to learn from and to test agents on."""
