"""Views of a page: the part of a snapshot that its reader may see, as text and numbers."""
