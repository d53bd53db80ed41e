"""Scores a run from its plan and its ledger."""
