"""One bar of a notebook that fills while something runs. IPython shows it, if a notebook has it loaded; never imported."""

from __future__ import annotations

import sys
import time
from html import escape
from typing import Any

# Seconds between two looks of a bar: more often only costs.
_PAUSE = 0.2


def in_notebook() -> bool:
    """Whether this runs in a notebook, where output may be replaced."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel") and "IPython.display" in sys.modules


class NotebookBar:
    """A bar below a cell, with a text beside it."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._shown = 0.0

    def show(self, share: float, text: str) -> None:
        """Fill so much of the bar, from 0 to 1; full bars are always shown."""
        now = time.perf_counter()
        if self._handle is not None and share < 1.0 and now - self._shown < _PAUSE:
            return
        self._shown = now
        display: Any = sys.modules["IPython.display"]
        markup = display.HTML(f'<progress max="1" value="{share:.4f}"></progress> <code>{escape(text)}</code>')
        if self._handle is None:
            self._handle = display.display(markup, display_id=True)
        else:
            self._handle.update(markup)
