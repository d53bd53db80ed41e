"""The report: one HTML file that says what a run, or several, came to."""
