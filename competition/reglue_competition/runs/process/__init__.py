"""The process of a submission.

To read in this order: `submission_process` is the program, `submission_parent` the server that has
started it, `submitted_agent` its agent, and `submission_play` plays the benchmarks.
"""
