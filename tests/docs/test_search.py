"""The first hit of the built documentation's search is the page that people look for."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page

from docs._hooks.offline import WORKER
from tests.repository.pages import ROOT

FIRST = {
    "how-to/evaluate-a-policy.html": [
        *("lstm", "recurrent", "stochastic", "evaluate_policy", "evaluate on my environment"),
    ],
    "how-to/log-scores.html": ["wandb", "tensorboard", "mlflow", "pandas", "jupyter", "notebook"],
    "how-to/evaluate-while-training.html": [
        *("evaluate during training", "optuna", "hyperparameter"),
    ],
    "how-to/stable-baselines3.html": ["evaluate my SB3 model", "success rate SB3"],
    "how-to/compare-algorithms.html": ["compare algorithms", "compare checkpoints"],
    "how-to/paper.html": ["paper", "numbers for a paper", "LaTeX", "cite"],
    "how-to/cluster.html": ["slurm", "ray", "several machines"],
    "how-to/metaworld.html": ["ML10"],
    "how-to/goals.html": ["hidden goals"],
    "how-to/datasets.html": ["make a dataset", "minari"],
    "how-to/clients/cpp.html": ["agent in C++"],
    "how-to/clients/julia.html": ["agent in Julia"],
    "how-to/troubleshooting.html": ["troubleshooting", "macOS", "Windows", "hangs"],
    "how-to/seeds-and-episodes.html": ["how many seeds"],
    "how-to/dm-env-rpc.html": ["dm_env_rpc"],
    "how-to/openenv.html": ["openenv"],
    "how-to/replay.html": ["save video", "film"],
    "gallery.html": ["gallery", "behaviour cloning"],
    "tutorials/first-environment.html": ["custom environment", "my own environment"],
    "tutorials/first-meta-learner.html": ["meta-learning", "agent that adapts"],
    "explanation/statistics.html": ["confidence interval", "success rate interval"],
}
_PATIENCE_MS = 60_000  # the browser makes the index


class Quiet(SimpleHTTPRequestHandler):
    """Says nothing of what it serves."""

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documentation, built."""
    folder: Path = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    quiet = {"NO_MKDOCS_2_WARNING": "1"}
    subprocess.run(words, cwd=ROOT, env=os.environ | quiet, timeout=240, check=True)
    return folder


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[str]:
    """Its address, served."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def page(browser: Browser, site: str) -> Iterator[Page]:
    """A window, closed before the server is."""
    opened = browser.new_page()
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("words", "wanted"), [(words, page) for page, several in FIRST.items() for words in several]
)
def test_the_first_hit_is_the_page_that_answers(
    page: Page, site: str, words: str, wanted: str
) -> None:
    assert first_hit(page, f"{site}/index.html?q={quote(words)}").endswith(f"/{wanted}")


def first_hit(page: Page, address: str) -> str:
    """The first hit's address, without the heading."""
    page.goto(address)
    hit = page.locator(".md-search-result__link").first
    hit.wait_for(state="attached", timeout=_PATIENCE_MS)
    return str(hit.get_attribute("href")).partition("?")[0].partition("#")[0]


def test_a_site_that_is_opened_from_disk_searches(page: Page, folder: Path) -> None:
    assert WORKER.is_file(), "run `make reference` first"
    start = (folder / "index.html").as_uri()
    assert first_hit(page, f"{start}?q=slurm") == (folder / "how-to/cluster.html").as_uri()
