"""How often each interval of the reports holds the truth, by simulation."""
