"""Search in a site that is opened from disk, where a browser starts no worker.

Material's plugin does it with a script that it would load from a network: here it is a file of the
site, which npm brings.
"""

from __future__ import annotations

import logging
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files

WORKER = Path(__file__).parent / "node_modules/iframe-worker/shim/index.js"

_PAGE = "assets/iframe-worker.js"


@event_priority(50)  # before the plugin, which then takes this file
def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Name the file, or turn the plugin off."""
    if WORKER.is_file():
        config.extra["polyfills"] = [_PAGE]
    else:
        config.plugins["material/offline"].config.enabled = False
        logging.getLogger("mkdocs.hooks").info("Search from disk is left out: npm brings it.")
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the file."""
    if WORKER.is_file():
        files.append(File.generated(config, _PAGE, abs_src_path=str(WORKER)))
    return files
