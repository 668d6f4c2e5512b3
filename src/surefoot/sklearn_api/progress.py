"""One line of text per iteration of a solve, for people who wait."""

from __future__ import annotations

import contextlib
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import TypeAlias

from surefoot.core.notebook_bar import NotebookBar, in_notebook
from surefoot.core.outcome import Progress

Listener: TypeAlias = Callable[[Progress], None]

_HEADER = f"{'iteration':>9}  {'objective':>14}  {'lower bound':>14}  {'gap':>9}  {'seconds':>8}"


class ProgressPrinter:
    """A listener for solver progress that writes to standard error, where it mixes with no program's output.

    Parameters
    ----------
    title : str
        What is being solved; written above the first line.
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self._started = False

    def __call__(self, progress: Progress) -> None:
        lines = []
        if not self._started:
            self._started = True
            lines = [self.title, _HEADER]
        lines.append(
            f"{progress.iteration:>9}  {progress.upper_bound:>14.9g}  {progress.lower_bound:>14.9g}  "
            f"{progress.gap:>9.2e}  {progress.seconds:>8.2f}"
        )
        # Looked up at every call: notebooks and test runners exchange the stream.
        sys.stderr.write("".join(f"{line}\n" for line in lines))
        sys.stderr.flush()


class ProgressBarBelowCell:
    """The same for notebooks: a bar that fills as the gap closes, full at a relative gap of 1e-6."""

    def __init__(self, title: str) -> None:
        self.title, self._bar = title, NotebookBar()

    def __call__(self, progress: Progress) -> None:
        share = progress.gap / (abs(progress.upper_bound) or 1.0)
        digits = 6.0 if share <= 0 else -math.log10(share) if math.isfinite(share) else 0.0
        gap = f"{share:.1e}" if math.isfinite(share) else "unknown"
        text = f"{self.title}: gap {gap}, step {progress.iteration}, {progress.seconds:.1f} s"
        self._bar.show(min(max(digits / 6.0, 0.0), 1.0), text)


def _usual_listener(title: str) -> Listener:
    return ProgressBarBelowCell(title) if in_notebook() else ProgressPrinter(title)


# Who listens to solves that are to be shown. One for all threads: paths are solved by several.
_make_listener: Callable[[str], Listener] = _usual_listener


def progress_listener(title: str) -> Listener:
    """Who listens to a solve of that title."""
    return _make_listener(title)


@contextlib.contextmanager
def shown_by(make: Callable[[str], Listener]) -> Iterator[None]:
    """Within the block, have solves that are to be shown tell ``make(title)`` instead of a :class:`ProgressPrinter`."""
    global _make_listener
    before, _make_listener = _make_listener, make
    try:
        yield
    finally:
        _make_listener = before


class CountPrinter:
    """Says on standard error how much of a job is done, every tenth of it; any thread may report.

    Parameters
    ----------
    title : str
    total : int
    """

    def __init__(self, title: str, total: int) -> None:
        self.title, self.total = title, total
        self._done = 0
        self._started = time.perf_counter()
        self._lock = threading.Lock()
        self._bar = NotebookBar() if in_notebook() else None

    def advance(self, count: int) -> None:
        """Report that ``count`` more are done."""
        with self._lock:
            before, self._done = self._done, self._done + count
            if self._done * 10 // self.total > before * 10 // self.total:
                seconds = time.perf_counter() - self._started
                text = f"{self.title}: {self._done} of {self.total}, {seconds:.1f} s"
                if self._bar is not None:
                    self._bar.show(self._done / self.total, text)
                    return
                sys.stderr.write(f"{text}\n")
                sys.stderr.flush()
