"""Loading of a command's modules: a note on the terminal, Ctrl-C, and missing modules."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from reglue import process_tuning
from reglue.errors import MissingExtra
from reglue_signals import hear_ctrl_c, leave_at_ctrl_c


class NotInstalled(Exception):
    """A module that a command loads is missing; the message is its name."""


@contextmanager
def loading() -> Iterator[None]:
    """Within the block modules load: a terminal shows it, and Ctrl-C exits at once.

    A command imports in its function what only its work needs: so its help is quick.
    Raises NotInstalled.
    """
    hears = threading.current_thread() is threading.main_thread()  # Python's rule
    if hears:
        leave_at_ctrl_c()
    is_shown = sys.stderr.isatty()  # it takes seconds on a busy machine
    if is_shown:
        print("loading …", end="", file=sys.stderr, flush=True)
    try:
        with process_tuning.collecting_seldom():
            yield
    except (ModuleNotFoundError, MissingExtra) as error:
        raise NotInstalled(error.name) from error
    finally:
        if is_shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
        if hears:
            hear_ctrl_c()
