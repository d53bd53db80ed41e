"""Images that teams hand in: how they come, go on into another phase, and play once more."""
