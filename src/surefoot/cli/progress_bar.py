"""One line on a terminal that says how far a solve is, by its gap, which shrinks to what is asked for; or how much is read."""

from __future__ import annotations

import contextlib
import math
import shutil
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from surefoot.cli.console import printable
from surefoot.core.outcome import Progress
from surefoot.sklearn_api.progress import Listener, shown_by

_WIDTH = 24
# The bar is full at a relative gap of 1e-6, the default tolerance: four cells for each digit that is proven.
_DIGITS = 6.0


class ProgressBar:
    """A line that is written over and over."""

    def __init__(self) -> None:
        self._shown = 0
        self._lock = threading.Lock()

    def listener(self, title: str) -> Listener:
        """Who shows one of possibly many solves on the line."""

        def show(progress: Progress) -> None:
            columns = shutil.get_terminal_size().columns
            self.show(f"{bar(progress)}  {title}"[: max(columns - 1, 20)])

        return show

    def close(self) -> None:
        """Leave the line, if there is one."""
        if self._shown:
            sys.stderr.write("\n")
            sys.stderr.flush()

    def show(self, text: str) -> None:
        """Write a text in place of the one that stands there."""
        with self._lock:
            sys.stderr.write(f"\r{text.ljust(self._shown)}")
            sys.stderr.flush()
            self._shown = len(text)


def bar(progress: Progress) -> str:
    """The line without the title: the bar, the gap, and what it took."""
    size = abs(progress.upper_bound) or 1.0
    share = progress.gap / size
    digits = _DIGITS if share <= 0 else -math.log10(share) if math.isfinite(share) else 0.0
    filled = round(_WIDTH * min(max(digits, 0.0), _DIGITS) / _DIGITS)
    gap = f"{share:.1e}" if math.isfinite(share) else "unknown"
    return f"[{'#' * filled}{'-' * (_WIDTH - filled)}] gap {gap}  step {progress.iteration}  {progress.seconds:.1f} s"


@contextlib.contextmanager
def progress_bars() -> Iterator[None]:
    """Within the block, solves are shown as a bar if there is a terminal; otherwise line by line, as in Python."""
    if not sys.stderr.isatty():
        yield
        return
    line = ProgressBar()
    try:
        with shown_by(line.listener):
            yield
    finally:
        line.close()


# Reading that takes less is not worth a line; without a terminal there is a line every so often. Seconds.
_QUICK, _OFTEN = 1.0, 10.0


def shown_reading(
    path: Path, chunks: Iterator[Mapping[str, Sequence[Any]]], *, quiet: bool
) -> Iterator[Mapping[str, Sequence[Any]]]:
    """The chunks of a table, with a line on standard error that counts rows where reading takes long."""
    if quiet:
        yield from chunks
        return
    line, rows, started, told = ProgressBar(), 0, time.perf_counter(), 0.0
    on_terminal = sys.stderr.isatty()
    try:
        for chunk in chunks:
            yield chunk
            rows += len(next(iter(chunk.values()), ()))
            seconds = time.perf_counter() - started
            if seconds >= max(_QUICK, told + (0.2 if on_terminal else _OFTEN)):
                told = seconds
                text = printable(f"reading {path.name}: {rows:,} rows, {seconds:.0f} s")
                if on_terminal:
                    line.show(text)
                else:
                    sys.stderr.write(f"{text}\n")
    finally:
        line.close()
