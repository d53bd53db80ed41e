"""The numbers that documents promise are those of the code.

Each row has a number as a literal, a page's own words for it, and where the code has it: change
all three at once. What the numbers do is tested beside their code.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from pkgutil import resolve_name

import pytest

from glue_server.host_settings import HostSettings
from glue_server.rpc import GlueServer
from reglue.net.grpc_settings import channel_options
from reglue_bench.settings import Settings
from reglue_competition.transcript.framing import Kind
from tests.repository.pages import ROOT

SECURITY = "SECURITY.md"
HOST = "docs/how-to/host.md"
PAGE = "docs/how-to/competition-page.md"
CONCEPTS = "docs/explanation/concepts.md"
EXACTNESS = "docs/explanation/exactness.md"
PROTO = "proto/README.md"
HTTP = "reglue_competition.page.http_server"
CONNECTION = "glue_server.rpc.peer_streams"

CLUSTER = "docs/how-to/cluster.md"
TRAIN = "docs/how-to/train-and-evaluate.md"
VARIABLES = "docs/reference/environment-variables.md"
STORE = "reglue_competition.store"
FRAMING = "reglue_competition.transcript.framing"

Place = str | Callable[[], float]
"""The place of a number: `module:name`, or the way that it follows from the value there."""


def of(name: str) -> float:
    return float(resolve_name(name))


def keepalive_s(option: str) -> float:
    return float(dict(channel_options(1))[f"grpc.{option}"]) / 1000


def bits_of_a_token() -> float:
    with GlueServer() as server:
        return 4.0 * len(server.token)  # hexadecimal digits


PROMISES: list[tuple[float, str, str, Place]] = [
    # Strangers.
    (192, SECURITY, "the token, which has 192 bits", bits_of_a_token),
    (4096, SECURITY, "half of `ulimit -n`, at most 4,096", "glue_server.rpc.server:_CONNECTIONS"),
    (65_536, SECURITY, "a Join of more than 64 KiB", "glue_server.rpc.handlers:_REQUEST_BYTES"),
    (3, SECURITY, "at most three Joins of an address", "glue_server.rpc.handlers:_READ"),
    (16, HOST, "a secret of 16 characters", "glue_server.routines.secret:_MIN_SECRET"),
    (
        16,
        VARIABLES,
        "16 characters or more",
        "glue_server.routines.secret:_MIN_SECRET",
    ),
    # Connections.
    (
        30,
        HOST,
        "may return within 30 s",
        lambda: HostSettings.model_fields["reconnect_window"].default,
    ),
    (20, HOST, "the connection after 20 to", f"{CONNECTION}:STOPPED_S"),
    (24, HOST, "to 24 s", lambda: of(f"{CONNECTION}:STOPPED_S") + 2 * of(f"{CONNECTION}:_LOOK_S")),
    (300, HOST, "over gRPC after 5 minutes", "reglue.net.grpc_settings:MESSAGE_S"),
    (300, HOST, "may take up to 5 minutes", lambda: keepalive_s("http2.ping_timeout_ms")),
    (20, HOST, "sends a ping 20 s after", lambda: keepalive_s("keepalive_time_ms")),
    (
        40,
        HOST,
        "to 40 s. Then",
        lambda: keepalive_s("keepalive_time_ms") + keepalive_s("keepalive_timeout_ms"),
    ),
    (8, HOST, "agent that is eight answers behind", "glue_server.agent.agent_calls:MOST_OWED"),
    (8, CONCEPTS, "agent that is eight answers behind", "glue_server.agent.agent_calls:MOST_OWED"),
    (10, PROTO, "the glue waits 10 s", "glue_server.rpc.services:HELLO_S"),
    (10, PROTO, "no hello within 10 s", "glue_server.rpc.services:HELLO_S"),
    (256, PROTO, "the last 256 unused tickets", "glue_server.rpc.admission:_TICKETS"),
    (
        64 * 2**20,
        "docs/how-to/minimal-client.md",
        "`max_message_bytes`, 64 MiB",
        "reglue.wire.sizes:HUB_MESSAGE_BYTES",
    ),
    # Runs.
    (10, CONCEPTS, "After ten such tries", "reglue_bench.runs.run:MOST_TRIES"),
    (10, SECURITY, "played again, at most ten times", "reglue_bench.runs.run:MOST_TRIES"),
    (
        100,
        CONCEPTS,
        "`evaluate` plays 100 episodes",
        "reglue_bench.procedures.evaluate:DEFAULT_EPISODES",
    ),
    (50, EXACTNESS, "at most 50 turns", "glue_server.agent.repetition:_MOST_TURNS"),
    (20, EXACTNESS, "at least 20 observations", "glue_server.agent.repetition:_LEAST_ROWS"),
    (100, EXACTNESS, "One turn in 100", "glue_server.agent.repetition:_SHARE"),
    (50, EXACTNESS, "are replayed: 50, or", "reglue_bench.runs.repeatability:_LEAST_STEPS"),
    (400, EXACTNESS, "/400 of the turns of the run", "reglue_bench.runs.repeatability:_SHARE"),
    (
        10,
        TRAIN,
        "by default 10, or",
        "reglue_bench.procedures.training:DEFAULT_EVAL_EPISODES",
    ),
    (
        1000,
        TRAIN,
        "is truncated after 1000 steps",
        "reglue_bench.procedures.training:CHECKPOINT_HORIZON",
    ),
    (
        3,
        CLUSTER,
        "after three deaths over one unit",
        "reglue_bench.engines.dealing:MAX_DEATHS",
    ),
    (
        300,
        CLUSTER,
        "`--connect-timeout` (300 s)",
        lambda: Settings.model_fields["connect_timeout"].default,
    ),
    (
        300,
        "docs/how-to/run-a-competition.md",
        "has 300 s for each call",
        lambda: Settings.model_fields["environment_timeout"].default,
    ),
    (
        2 * 2**30,
        VARIABLES,
        "at most 2 GiB",
        "env_adapters.disk_cache:LIMIT_BYTES",
    ),
    (
        4 * 2**30,
        SECURITY,
        "/tmp and /dev/shm (4 GiB each)",
        "glue_server.processes.sandboxes.bubblewrap:TEMPORARY_BYTES",
    ),
    (
        1024,
        SECURITY,
        "limit processes (1,024)",
        lambda: resolve_name("glue_server.processes.sandboxes.launch:USUAL").processes,
    ),
    (
        8 * 2**30,
        SECURITY,
        "memory (8 GiB:",
        lambda: resolve_name("glue_server.processes.sandboxes.launch:USUAL").memory_bytes,
    ),
    # Competitions.
    (5, SECURITY, "five appeals a day", f"{STORE}.appeals:MOST_A_DAY"),
    (5, PAGE, "each submission and five a day", f"{STORE}.appeals:MOST_A_DAY"),
    (2000, PAGE, "up to 2,000 characters", f"{STORE}.appeals:MOST_TEXT"),
    (
        20,
        SECURITY,
        "withdraw 20 submissions a day",
        f"{STORE}.quotas:MOST_WITHDRAWN",
    ),
    (
        3,
        "docs/reference/competitions.md",
        "A team with three broken submissions",
        f"{STORE}.quotas:MOST_BROKEN",
    ),
    (
        48,
        "docs/reference/competitions.md",
        "is closed it waits 48 hours",
        lambda: resolve_name(f"{STORE}.records:MOST_WAIT") / timedelta(hours=1),
    ),
    (10, PAGE, "may try ten tokens a minute", "reglue_competition.page.security:LoginLimit.TRIES"),
    (32 * 2**10, PAGE, "forms are at most 32 KiB", "reglue_competition.page.security:MAX_BODY"),
    (10, PAGE, "without a request after 10 s", f"{HTTP}:REQUEST_S"),
    (
        30,
        SECURITY,
        "do not read its answers within 30 s",
        lambda: of(f"{HTTP}:READ_S") + of(f"{HTTP}:REQUEST_S"),
    ),
    (
        30,
        PAGE,
        "does not read its answers after 30 s",
        lambda: of(f"{HTTP}:READ_S") + of(f"{HTTP}:REQUEST_S"),
    ),
    (100, PAGE, "at most 100 of", f"{HTTP}:OF_ADDRESS"),
    (600, PAGE, "of 600 connections", f"{HTTP}:CONNECTIONS"),
    (20, PAGE, "and 20 of", "reglue_competition.page.live:OF_ADDRESS"),
    (200, PAGE, "of 200 streams", "reglue_competition.page.live:LISTENERS"),
    (
        10,
        "docs/reference/competitions.md",
        "is tried again for 10 s",
        f"{STORE}.database:PATIENCE_S",
    ),
    # Transcripts.
    (
        1_000_000,
        SECURITY,
        "more than a million episodes",
        "reglue_competition.transcript.replayer:_MOST_NOT_PLAYED",
    ),
    (
        128 * 2**20,
        SECURITY,
        "an episode has at most 128 MiB",
        lambda: resolve_name(f"{FRAMING}:_MOST_UNPACKED")[Kind.EPISODE],
    ),
    (
        8 * 2**20,
        "docs/reference/transcripts.md",
        "at most 8 MiB (HEADER)",
        lambda: resolve_name(f"{FRAMING}:_MOST_UNPACKED")[Kind.HEADER],
    ),
]

WORDS = {"three": 3, "five": 5, "eight": 8, "ten": 10, "a million": 1_000_000}
UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "minutes": 60}
_NUMBER = re.compile(rf"([\d,]*\d|\b(?:{'|'.join(WORDS)})\b)(?: ({'|'.join(UNITS)}))?")


@pytest.mark.parametrize(
    ("number", "page", "words", "place"),
    PROMISES,
    ids=[f"{page.rpartition('/')[2]}: {words}" for _, page, words, _ in PROMISES],
)
def test_a_number_is_the_same_in_the_page_and_in_the_code(
    number: float, page: str, words: str, place: Place
) -> None:
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert words in text, f"{page} says it in other words: change the row, too"
    assert said(words) == number
    assert (of(place) if isinstance(place, str) else place()) == number


def said(words: str) -> float:
    """The number in a phrase, in seconds or bytes."""
    (found,) = _NUMBER.finditer(words)
    number = WORDS.get(found[1]) or float(found[1].replace(",", ""))
    return number * UNITS.get(found[2], 1)
