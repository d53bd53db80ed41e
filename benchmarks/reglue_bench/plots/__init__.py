"""Plots, tables and sentences of reports, about one run or several."""
