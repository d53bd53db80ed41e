"""Sections of the measurement: functions of `(scale, watch)` that return a Section."""
