"""What is measured, a goal or two a module; each has `measure(scale, watch)`."""
