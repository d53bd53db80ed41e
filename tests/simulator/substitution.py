"""Puts the virtual modules in the place of Python's, before anything of the program is imported."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from tests.simulator import virtual_files, virtual_processes, virtual_sockets, virtual_threads

_ANEW = (
    "_threading_local",
    "threading",
    "queue",
    "selectors",
    "concurrent.futures._base",
    "concurrent.futures.thread",
    "concurrent.futures",
)
"""Python's own modules that are built upon the virtual ones."""

_AS_THEY_ARE = (
    "grpc",
    "numpy.random",
    "ssl",
    "asyncio",
    "multiprocessing.connection",
    "tempfile",
    "sqlite3",
    "filelock",
)


def substitute() -> None:
    """From now on what is imported gets the virtual modules.

    Libraries that are loaded already keep their threads, which the program does not use.
    """
    sys.modules["fcntl"] = virtual_files.fcntl_module()
    for name in _AS_THEY_ARE:
        importlib.import_module(name)
    sys.modules.update(
        _thread=virtual_threads.thread_module(),
        time=virtual_threads.time_module(),
        secrets=virtual_threads.secrets_module(),
        select=virtual_sockets.select_module(),
        socket=virtual_sockets.socket_module(),
        subprocess=virtual_processes.subprocess_module(),
        os=virtual_processes.os_module(),
        signal=virtual_processes.signal_module(),
        sqlite3=virtual_files.sqlite_module(),
        mmap=virtual_files.mmap_module(),
    )
    absent: Any = None
    sys.modules["_queue"] = absent  # its version in Python is imported
    for name in _ANEW:
        sys.modules.pop(name, None)
    for name in _ANEW:
        importlib.import_module(name)
    threading: Any = sys.modules["threading"]
    threading.main_thread = virtual_threads.main_thread
    # Executors have sets of threads, whose order would be that of addresses.
    threading.Thread.__hash__ = lambda thread: hash(thread._name)
    virtual_grpc = importlib.import_module("tests.simulator.virtual_grpc")
    sys.modules["grpc"] = virtual_grpc.grpc_module()
    children: Any = importlib.import_module("glue_server.processes.children")
    children.die_with = virtual_processes.die_with
    interrupts: Any = importlib.import_module("glue_server.processes.interrupts")
    interrupts._stop = virtual_processes.PerProcess(interrupts._Stop)


def forget() -> None:
    """Let go what Python's modules keep of the threads of a run that is over."""
    threading: Any = sys.modules["threading"]
    main = threading.main_thread()
    threading._active.clear()
    threading._active[main.ident] = main
    threading._shutdown_locks.clear()
    pools: Any = sys.modules["concurrent.futures.thread"]
    pools._threads_queues.clear()
