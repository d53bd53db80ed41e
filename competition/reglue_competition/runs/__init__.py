"""Submissions' processes, and the queue that starts them."""
