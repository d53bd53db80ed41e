"""Messages between the glue and its peers, as values."""
