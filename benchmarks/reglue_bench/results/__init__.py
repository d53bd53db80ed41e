"""The score: a fold over a plan and its ledger."""
