"""The door to matplotlib, which is optional: it is imported when a picture is drawn. All pictures share these colours."""

from __future__ import annotations

import importlib
from typing import Any

from surefoot.reports.wording import shown_name

BLUE, ORANGE, GREY, INK = "#2f6ea5", "#c05a00", "#5b6672", "#1b1f24"
GREEN, VIOLET = "#1b7f5c", "#7b4fa3"
# For models or lines side by side; they differ in lightness too, for those who see no colours and for paper.
SERIES = (BLUE, ORANGE, GREEN, VIOLET, "#8a6d00", "#a3245f")


def matplotlib(module: str) -> Any:
    """A module of matplotlib, or an error that says what to install."""
    try:
        return importlib.import_module(f"matplotlib.{module}")
    except ImportError as error:
        raise ImportError("plots need matplotlib: install it, or surefoot with its extra 'plot'.") from error


def axes(ax: Any, size: tuple[float, float]) -> Any:
    """The axes to draw on: those given, or those of a new figure of that size in inches."""
    return matplotlib("pyplot").subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def plain(name: str) -> str:
    """A name as matplotlib shows it: a dollar sign would begin a formula."""
    return shown_name(name).replace("$", r"\$")
