"""What reports show: plots, tables and sentences about one run or several."""
