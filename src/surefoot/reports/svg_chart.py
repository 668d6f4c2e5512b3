"""A small writer of charts: axes, lines, dots, whiskers and bars as one inline SVG without scripts, links or fonts of its own.

A report must be one file that opens anywhere, also where matplotlib is not installed, and vector graphics are what paper wants.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.reports.displays.canvas import BLUE, GREEN, GREY, INK, ORANGE, VIOLET
from surefoot.reports.markup import safe
from surefoot.reports.wording import shown_name

_FONT = 'font-family="system-ui, Segoe UI, Helvetica, Arial, sans-serif"'
_LEFT, _RIGHT, _TOP, _BOTTOM = 54, 20, 12, 46
_GRID = "#dfe4e9"
# A page may have a dark form: it then gives these colours others, by the names of its style sheet.
_NAMED = {INK: "ink", GREY: "soft", _GRID: "grid", BLUE: "blue", ORANGE: "orange", GREEN: "green", VIOLET: "violet"}


@dataclass(frozen=True)
class Axis:
    """One axis: its label, its ends, where it has ticks and how they are written."""

    label: str
    low: float
    high: float
    ticks: tuple[float, ...]
    text: Callable[[float], str]

    @classmethod
    def shares(cls, label: str) -> Axis:
        """From 0 to 100 %."""
        return cls(label, 0.0, 1.0, (0.0, 0.2, 0.4, 0.6, 0.8, 1.0), lambda value: f"{100 * value:.0f}%")

    @classmethod
    def around(cls, label: str, values: FloatArray, n_ticks: int = 4) -> Axis:
        """Wide enough for all values, with readable ticks."""
        low, high = float(np.min(values)), float(np.max(values))
        room = 0.04 * (high - low) or max(abs(high), 1.0) * 0.02
        low, high = low - room, high + room
        ticks, digits = readable_ticks(low, high, n_ticks)
        return cls(label, low, high, ticks, lambda value: f"{value:.{digits}f}")


def themed(colour: str) -> str:
    """A colour as a page may exchange it, or the colour itself where no style sheet does."""
    return f"var(--{_NAMED[colour]}, {colour})" if colour in _NAMED else colour


def readable_ticks(low: float, high: float, count: int) -> tuple[tuple[float, ...], int]:
    """About ``count`` multiples of 1, 2 or 5 times a power of ten between two numbers, and the digits they need."""
    raw = (high - low) / count
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * unit for factor in (1.0, 2.0, 5.0, 10.0) if factor * unit >= raw * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return tuple(k * step for k in range(first, last + 1)), max(0, -math.floor(math.log10(step) + 1e-9))


class SvgChart:
    """A chart under construction; :meth:`svg` writes it.

    Parameters
    ----------
    title : str
        What the picture shows, for those who cannot see it.
    x, y : Axis
    told : str
        What it says, for the same.
    width, height : int
        In pixels, before the page scales the picture.
    left : int
        Room for the names beside the vertical axis.
    """

    def __init__(
        self, title: str, x: Axis, y: Axis, *, told: str, width: int = 360, height: int = 330, left: int = _LEFT
    ) -> None:
        self.title, self.x, self.y, self.told, self.width, self.height, self.left = title, x, y, told, width, height, left
        self._body: list[str] = []
        self._frame()

    def line(self, xs: Sequence[float] | FloatArray, ys: Sequence[float] | FloatArray, colour: str, **style: str) -> None:
        """A line through points; ``style`` are attributes, underscores for hyphens."""
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(self._xs(xs), self._ys(ys), strict=True))
        drawn = _attributes({"stroke": themed(colour), "stroke_width": "1.6", **style})
        self._body.append(f'<polyline points="{points}" fill="none"{drawn}/>')

    def dots(self, xs: FloatArray, ys: FloatArray, radii: FloatArray, colour: str) -> None:
        self._body += [
            f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{r:.1f}" fill="{themed(colour)}" fill-opacity="0.85"/>'
            for a, b, r in zip(self._xs(xs), self._ys(ys), radii, strict=True)
        ]

    def whiskers(self, xs: FloatArray, lows: FloatArray, highs: FloatArray) -> None:
        """Vertical intervals with caps."""
        ink = themed(INK)
        self._body += [
            f'<path d="M{a:.1f} {b:.1f}V{c:.1f}M{a - 3:.1f} {b:.1f}h6M{a - 3:.1f} {c:.1f}h6" stroke="{ink}" fill="none"/>'
            for a, b, c in zip(self._xs(xs), self._ys(lows), self._ys(highs), strict=True)
        ]

    def bars(self, edges: FloatArray, heights: FloatArray, colour: str) -> None:
        """Vertical bars from 0, between neighbouring edges."""
        lefts, tops, floor = self._xs(edges), self._ys(heights), self._ys([0.0])[0]
        self._body += [
            f'<rect x="{left:.2f}" y="{top:.1f}" width="{max(right - left - 0.5, 0.5):.2f}" height="{floor - top:.1f}" '
            f'fill="{themed(colour)}"/>'
            for left, right, top in zip(lefts[:-1], lefts[1:], tops, strict=True)
            if floor - top > 0
        ]

    def mark(self, x: float, text: str, *, colour: str = INK, level: int = 0, dashed: bool = False) -> None:
        """A vertical line with its name next to it, ``level`` lines of text below the top."""
        a = self._xs([x])[0]
        dash = ' stroke-dasharray="4 3"' if dashed else ""
        self._body.append(
            f'<path d="M{a:.1f} {_TOP}V{self.height - _BOTTOM}" stroke="{themed(colour)}" stroke-width="1.4"{dash}/>'
        )
        right = a > (self.width - _RIGHT + self.left) / 2
        self._text(a - 4 if right else a + 4, _TOP + 11 + 14 * level, text, anchor="end" if right else "start", fill=colour)

    def note(self, x: float, y: float, text: str, *, anchor: str = "start", colour: str = INK) -> None:
        """Text at a point of the chart."""
        self._text(self._xs([x])[0], self._ys([y])[0], text, anchor=anchor, fill=colour)

    def svg(self) -> str:
        """The chart as an SVG element."""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" role="img" {_FONT} '
            f'font-size="11.5" fill="{themed(INK)}"><title>{safe(shown_name(self.title))}</title>'
            f"<desc>{safe(shown_name(self.told))}</desc>{''.join(self._body)}</svg>"
        )

    def _frame(self) -> None:
        left, right, top, bottom = self.left, self.width - _RIGHT, _TOP, self.height - _BOTTOM
        for tick, a in zip(self.x.ticks, self._xs(self.x.ticks), strict=True):
            self._body.append(f'<path d="M{a:.1f} {top}V{bottom}" stroke="{themed(_GRID)}"/>')
            self._text(a, bottom + 16, self.x.text(tick), anchor="middle", fill=GREY)
        for tick, b in zip(self.y.ticks, self._ys(self.y.ticks), strict=True):
            self._body.append(f'<path d="M{left} {b:.1f}H{right}" stroke="{themed(_GRID)}"/>')
            self._text(left - 6, b + 4, self.y.text(tick), anchor="end", fill=GREY)
        self._body.append(f'<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="{themed(GREY)}"/>')
        self._text((left + right) / 2, self.height - 10, self.x.label, anchor="middle", fill=INK)
        if not self.y.label:
            return
        middle = (top + bottom) / 2
        self._body.append(
            f'<text transform="translate(13 {middle:.1f}) rotate(-90)" text-anchor="middle">'
            f"{safe(shown_name(self.y.label))}</text>"
        )

    def _text(self, x: float, y: float, text: str, *, anchor: str, fill: str) -> None:
        self._body.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{themed(fill)}">{safe(shown_name(text))}</text>'
        )

    def _xs(self, values: Iterable[float] | FloatArray) -> list[float]:
        return _placed(values, self.x, self.left, self.width - _RIGHT)

    def _ys(self, values: Iterable[float] | FloatArray) -> list[float]:
        return _placed(values, self.y, self.height - _BOTTOM, _TOP)


def _placed(values: Iterable[float] | FloatArray, axis: Axis, start: float, end: float) -> list[float]:
    share = (np.asarray(list(values), dtype=np.float64) - axis.low) / (axis.high - axis.low)
    placed: list[float] = (start + np.clip(share, 0.0, 1.0) * (end - start)).tolist()
    return placed


def _attributes(style: dict[str, str]) -> str:
    return "".join(f' {name.replace("_", "-")}="{value}"' for name, value in style.items())
