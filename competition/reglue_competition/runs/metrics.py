"""A server's metrics, for Prometheus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import prometheus_client as prometheus

from reglue_competition.store import UNFINISHED, Submission


class Metrics:
    """The metrics of one server, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = prometheus.CollectorRegistry()
        self._submissions = prometheus.Gauge(
            "reglue_submissions_unfinished",
            "Submissions that wait or play now",
            ["status"],
            registry=self.registry,
        )
        self.queue = prometheus.Gauge(
            "reglue_queue_length",
            "Submissions whose agent is connected and whose round has begun, without a place",
            registry=self.registry,
        )
        self.ended = prometheus.Counter(
            "reglue_submissions_ended",
            "Submissions that have ended, by how",
            ["status"],
            registry=self.registry,
        )
        self.episodes = prometheus.Counter(
            "reglue_episodes_played",
            "Episodes (online: runs or steps, as the benchmark counts) that were played",
            registry=self.registry,
        )
        self.refusals = prometheus.Counter(
            "reglue_entries_refused",
            "Agents that were refused, by why: token, entry (a quota, no open phase), later",
            ["why"],
            registry=self.registry,
        )
        self.restarts = prometheus.Counter(
            "reglue_submissions_interrupted",
            "Processes of submissions that died, or whose machine failed them",
            registry=self.registry,
        )
        self.waited = prometheus.Histogram(
            "reglue_waited_seconds",
            "From when an agent was entered until it began to play",
            buckets=(1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 24 * 3600),
            registry=self.registry,
        )
        self.store_failures = prometheus.Counter(
            "reglue_store_failures",
            "Times that the database was away for longer than an operation waits for it",
            registry=self.registry,
        )

    def count(self, unfinished: Iterable[Submission]) -> None:
        """Set what is counted anew each time."""
        by_status = Counter(each.status for each in unfinished)
        for status in UNFINISHED:
            self._submissions.labels(status).set(by_status[status])
