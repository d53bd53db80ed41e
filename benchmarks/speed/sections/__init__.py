"""What is measured: functions of `(scale, watch)` that return a Section."""
