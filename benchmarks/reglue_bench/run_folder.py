"""The names of the files in a run's folder."""

from pathlib import Path

LEDGER = "ledger.sqlite"
"""The plan, and a row for each episode."""

OBSERVED = "observed.sqlite"
"""What agents saw, where it is recorded."""

FIRST_TURNS = "first-turns.json"
"""What an agent object was asked first, and answered, where its parameters do not identify it."""

AGENT_LOG = "agent.log"
"""What the agent's program printed."""

WORKER_LOG = "workers.log"
"""What environments printed in processes of their own."""

RAY_LOG = "ray.log"
"""What Ray printed."""


def remove_logs(folder: Path) -> None:
    """Remove what programs printed, where nothing was played."""
    for pattern in (AGENT_LOG, "agent-*.log", WORKER_LOG, RAY_LOG):
        for log in folder.glob(pattern):
            log.unlink()
