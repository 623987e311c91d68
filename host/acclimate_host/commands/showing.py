# SPDX-License-Identifier: MIT
"""Show on a terminal what goes on, with the time left; say nothing where output is piped."""

import sys
import threading
from contextlib import contextmanager

_AFTER_S = 2  # what is done sooner shows nothing by itself


class _Shown:
    """One line at the end of the terminal, through `rich`; made when it is first wanted."""

    def __init__(self):
        self._bar = self._task = None
        self._lock = threading.Lock()

    def __call__(self, text, done=None, total=None):
        """Show a text, and how far it is; an empty text takes the line away.

        :param done, total: parts that are done, of how many; the time left comes from them.
        """
        if not sys.stderr.isatty():
            return
        with self._lock:
            if not text:
                self._end()
                return
            if self._bar is None:
                self._begin()
            self._bar.update(self._task, description=text, completed=done or 0, total=total)

    def shows(self):
        """Tell whether there is a line now."""
        return self._bar is not None

    def _begin(self):
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(compact=True),
        )
        both = sys.stdout.isatty()  # lines that are printed meanwhile stand above
        console = Console(stderr=True, highlight=False)
        self._bar = Progress(
            *columns, console=console, transient=True, redirect_stdout=both, redirect_stderr=both
        )
        self._task = self._bar.add_task("", total=None)
        self._bar.start()

    def _end(self):
        if self._bar is not None:
            self._bar.stop()
        self._bar = None


progress = _Shown()


@contextmanager
def waiting(text):
    """Show a text with the time that has passed, where nothing else is shown for two seconds."""

    def show():
        if not progress.shows():
            progress(text)

    timer = threading.Timer(_AFTER_S, show)
    timer.daemon = True
    if sys.stderr.isatty():
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
        progress("")
