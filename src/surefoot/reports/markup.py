"""Text inside markup: what goes into HTML and SVG passes through here, and comes out as text whatever it holds."""

from __future__ import annotations

from html import escape
from importlib.resources import files


def safe(text: str) -> str:
    """Text as content or as an attribute in quotation marks."""
    return escape(text, quote=True)


def resource(name: str) -> str:
    """A style sheet or script that comes with the package."""
    return files("surefoot.reports").joinpath(name).read_text(encoding="utf-8").strip()
