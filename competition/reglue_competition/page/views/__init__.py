"""What a page shows: a snapshot in plain words and numbers, as far as its reader may see it."""
