"""The names of the files in a run's folder."""

from pathlib import Path

LEDGER = "ledger.sqlite"
"""The plan, and a row for each episode."""

OBSERVED = "observed.sqlite"
"""The agents' observations, where they are recorded."""

FIRST_TURNS = "first-turns.json"
"""An agent object's first turns and answers, where its parameters do not identify it."""

AGENT_LOG = "agent.log"
"""The output of the agent's program."""

WORKER_LOG = "workers.log"
"""The output of environments in processes of their own."""

RAY_LOG = "ray.log"
"""The output of Ray."""


def remove_logs(folder: Path) -> None:
    """Remove what programs printed, where nothing was played."""
    for pattern in (AGENT_LOG, "agent-*.log", WORKER_LOG, RAY_LOG):
        for log in folder.glob(pattern):
            log.unlink()
