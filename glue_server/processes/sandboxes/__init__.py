"""Programs of strangers, started as another user, in bubblewrap or in a container."""
