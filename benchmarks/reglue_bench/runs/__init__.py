"""Carries a plan out, and keeps what was played."""
