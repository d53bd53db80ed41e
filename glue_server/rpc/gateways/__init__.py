"""One port for many runs, each of which is a process of its own."""
