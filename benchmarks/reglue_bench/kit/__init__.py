"""Projects that agents' authors begin with, one in each language: `reglue kit`."""
