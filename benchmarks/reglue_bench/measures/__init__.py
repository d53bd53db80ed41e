"""What runs are judged by, and how two of them are compared."""
