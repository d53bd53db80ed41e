"""What a page shows: the part of a snapshot that its reader may see, as text and numbers."""
