"""A window for the arcade's frames, by pygame, where there is a display."""

from __future__ import annotations

import functools
import os
import warnings
from typing import Any

from reglue.errors import CannotLoad, MissingExtra, UsageError
from reglue.spec import Array

_SCALE = 5
"""Pixels of the window for each of a frame, along each axis."""

_CHOSEN_BY = ("SDL_VIDEODRIVER", "DISPLAY", "WAYLAND_DISPLAY")
"""Environment variables that say where to draw; with none of them there is no display."""

_UNSEEN = "offscreen"
"""SDL's driver where it finds no display."""


class NoWindow(UserWarning):
    """There is no display, or no pygame: the arcade plays without a window."""


class Window:
    """Shows frames. Where no window can be opened it shows nothing, after one warning a process.

    A process has one window, as pygame does. Environments share it: it shows the last frame that
    any of them drew.
    """

    def __init__(self) -> None:
        self._pygame: Any = None
        self._is_open, self._cannot_open = False, False

    def show(self, frame: Array) -> None:
        """Show `frame`, (84, 84, 3) uint8. The first one opens the window."""
        if self._cannot_open:
            return
        try:
            self._open(frame.shape[0] * _SCALE)
        except UsageError as error:
            self._cannot_open = True
            _warn(f"the arcade opens no window: {error}")
            return
        pygame, (height, width, _) = self._pygame, frame.shape
        picture = pygame.image.frombuffer(frame.tobytes(), (width, height), "RGB")
        surface = pygame.display.get_surface()
        pygame.transform.scale(picture.convert(surface), surface.get_size(), surface)
        pygame.display.flip()
        pygame.event.pump()  # or the desktop takes the program for one that hangs

    def close(self) -> None:
        """Close the window, if this opened it; the next frame opens it again."""
        if self._is_open:
            self._pygame.display.quit()
        self._is_open = False

    def _open(self, side: int) -> None:
        """Raises MissingExtra, and CannotLoad if there is no display."""
        pygame = self._pygame = self._pygame or _pygame()
        surface = pygame.display.get_surface()
        if surface is not None and surface.get_size() == (side, side):
            return
        if not any(map(os.environ.get, _CHOSEN_BY)):
            raise CannotLoad(got="no display", wanted="one that DISPLAY or WAYLAND_DISPLAY names")
        chosen = ", ".join(
            f"{name}={os.environ[name]}" for name in _CHOSEN_BY if name in os.environ
        )
        try:
            pygame.display.init()
            if pygame.display.get_driver() == _UNSEEN and _UNSEEN not in chosen:
                pygame.display.quit()
                raise CannotLoad(f"got {chosen}, which is no display")
            pygame.display.set_mode((side, side))
        except pygame.error as error:
            raise CannotLoad(f"got {chosen}: {error}") from error
        pygame.display.set_caption("Reglue arcade")
        self._is_open = True


@functools.cache
def _warn(message: str) -> None:
    warnings.warn(message, NoWindow, stacklevel=2)


def _pygame() -> Any:
    """The package, without the line that it prints. Raises MissingExtra."""
    hidden = "PYGAME_HIDE_SUPPORT_PROMPT"
    is_hidden = hidden in os.environ
    os.environ.setdefault(hidden, "1")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its own imports are deprecated
            import pygame
    except ModuleNotFoundError as error:
        raise MissingExtra("a window", "video", f"the package {error.name}") from error
    finally:
        if not is_hidden:
            del os.environ[hidden]
    return pygame
