"""Competitions: hidden tasks, many teams, scores that nobody can dispute.

Read in this order: `definition` (a competition's file), `phases` (hidden tasks and commitments to
them), `store` (teams, quotas, submissions), `transcript` (what anybody can check), `ranking`,
`runs` (the server that plays submissions), `page` and `cli`. Each imports only those before it.
"""
