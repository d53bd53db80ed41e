"""The names of the files in a run's folder."""

LEDGER = "ledger.sqlite"
"""The plan, and a row for each episode."""

OBSERVED = "observed.sqlite"
"""What agents saw, where it is recorded."""

AGENT_LOG = "agent.log"
"""What the agent's program printed."""

WORKER_LOG = "workers.log"
"""What environments printed in processes of their own."""
