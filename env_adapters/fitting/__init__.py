"""What tasks whose spaces differ have in common: one pair of spaces, and their tensors."""
