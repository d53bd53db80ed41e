"""What peers say to each other, as values."""
