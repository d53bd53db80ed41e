"""Environments from textbooks: one file each, to learn from and to test on."""
