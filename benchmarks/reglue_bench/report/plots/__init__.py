"""The plots of reports: Plotly figures of one run or of several."""
