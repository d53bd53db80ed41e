"""The coverage of each interval of the reports, by simulation."""
