"""Text inside markup: what goes into HTML and SVG passes through here, and comes out as text whatever it holds."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from importlib.resources import files


def safe(text: str) -> str:
    """Text as content or as an attribute in quotation marks."""
    return escape(text, quote=True)


def resource(name: str) -> str:
    """A style sheet or script that comes with the package."""
    return files("surefoot.reports").joinpath(name).read_text(encoding="utf-8").strip()


def document(title: str, style_sheet: str, policy: str, body: Iterable[str]) -> str:
    """A whole HTML page, without a line end at its own end.

    Parameters
    ----------
    title : str
        Escaped already, like the body.
    style_sheet : str
        Name of a resource of the package.
    policy : str
        What the browser may load and run: the Content-Security-Policy.
    body : iterable of str
        Lines of markup.
    """
    head = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8"/>',
        f'<meta http-equiv="Content-Security-Policy" content="{safe(policy)}"/>',
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
        f"<title>{title}</title>",
        f"<style>{resource(style_sheet)}</style>",
        "</head>",
        "<body>",
    ]
    return "\n".join([*head, *body, "</body>", "</html>"])
