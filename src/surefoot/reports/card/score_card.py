"""A score card as data, and the doors to its renderings.

    total = sum over lines of points * value,      risk of the positive class = 1 / (1 + exp(-(intercept + total) / multiplier))

People add up the points of the lines; the intercept is part of the table that turns the total into a risk. The card holds plain
data only. It is made by an estimator, or by hand, or read from JSON, which can come from anybody: reading it runs no code.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.design.binarize.binary_column import BinaryColumn
from surefoot.design.write.output_frame import build_frame, frame_library
from surefoot.reports.card.calculator import calculator_page
from surefoot.reports.card.card_html import card_html
from surefoot.reports.card.card_latex import card_latex
from surefoot.reports.card.card_line import CardLine, ValueKind
from surefoot.reports.card.card_proof import CardProof
from surefoot.reports.card.card_reasons import card_reasons
from surefoot.reports.card.card_svg import card_svg
from surefoot.reports.card.card_text import card_text
from surefoot.reports.card.rates_by_group import card_group_rates
from surefoot.reports.card.risk_table import RiskTable, risk_of, risk_table
from surefoot.reports.card.scaled_card import ScaledCard
from surefoot.reports.card.score_plots import plot_card
from surefoot.reports.card.scored_rows import card_totals, scored_rows
from surefoot.reports.evidence.performance import threshold_grid
from surefoot.reports.plain_json import PlainReader
from surefoot.reports.sections.net_benefit import benefit_for_all, net_benefit
from surefoot.reports.wording import risk_name

if TYPE_CHECKING:
    from surefoot.riskscore.estimator.card_judgement import CardJudgement

_FORMAT = "surefoot score card"
_VERSION = 1


@dataclass(frozen=True)
class ScoreCard:
    """Points that a person can add up, and the risk they stand for.

    Parameters
    ----------
    lines : tuple of CardLine
        Features with points, in the order in which they are shown.
    intercept : int
    multiplier : float, default=1.0
        Points per unit of log odds: 1 for unit-scale cards.
    classes : tuple of two str, default=("0", "1")
        Names of the two classes; the risk is that of the second.
    title : str, optional
        Heading; by default "Risk of ..." with the name of the positive class, if it has one.
    proof : CardProof, optional
        What is proven about the card.
    rates : str, optional
        What the card does to groups of people, as a sentence.

    Attributes
    ----------
    text, html, svg, latex, json : str
        The card as plain text, as a fragment of a page, as a picture, as a LaTeX table, and as data.
    table : RiskTable
        From total points to risk.

    Examples
    --------
    >>> card = ScoreCard.from_points({"age >= 75": 2, "smoker": 1, "vaccinated": -1}, intercept=-2, classes=("well", "ill"))
    >>> print(card)
    Risk of ill
    -----------------------
    age >= 75      2 points
    smoker         1 point
    vaccinated    −1 point
    -----------------------
    Total points  = ......
    <BLANKLINE>
    Total   Risk
       −1   4.7%
        0  11.9%
        1  26.9%
        2  50.0%
        3  73.1%
    <BLANKLINE>
    risk = 1 / (1 + exp(-(total - 2)))
    """

    lines: tuple[CardLine, ...]
    intercept: int
    multiplier: float = 1.0
    classes: tuple[str, str] = ("0", "1")
    title: str = ""
    proof: CardProof | None = None
    rates: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "lines", tuple(self.lines))
        if type(self.intercept) is not int:
            raise ValueError(f"intercept = {self.intercept!r} must be a whole number.")
        if not (isinstance(self.multiplier, (int, float)) and math.isfinite(self.multiplier) and self.multiplier > 0):
            raise ValueError(f"multiplier = {self.multiplier!r} must be a positive number.")
        if len(self.classes) != 2 or not all(isinstance(name, str) for name in self.classes):
            raise ValueError(f"classes = {self.classes!r} must be two names.")
        names = [line.feature for line in self.lines]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"the card has two lines for {repeated[0]!r}.")

    @classmethod
    def from_points(
        cls,
        points: Mapping[str, int],
        intercept: int,
        *,
        kinds: Mapping[str, ValueKind] | None = None,
        ranges: Mapping[str, tuple[float, float]] | None = None,
        meanings: Iterable[BinaryColumn] = (),
        multiplier: float = 1.0,
        classes: tuple[str, str] = ("0", "1"),
        title: str = "",
        proof: CardProof | None = None,
        rates: str = "",
    ) -> ScoreCard:
        """A card from points by feature; features with 0 points are left out.

        Parameters
        ----------
        points : mapping of str to int
        intercept : int
        kinds : mapping of str to {"binary", "integer", "real"}, optional
            What values the columns hold; those left out are binary.
        ranges : mapping of str to (lowest, highest), optional
            Range of the values of integer and real columns, which bounds the table of risks.
        meanings : iterable of BinaryColumn, optional
            What 0/1 columns say about the original table, such as ``columns_`` of a fitted ``ThresholdBinarizer``; those of
            other columns are ignored.
        multiplier, classes, title, proof, rates
            As in :class:`ScoreCard`.
        """
        kinds, ranges = kinds or {}, ranges or {}
        lines = tuple(
            CardLine(feature, own, kinds.get(feature, "binary"), *ranges.get(feature, (None, None)))
            for feature, own in points.items()
            if own != 0
        )
        return cls(lines, intercept, multiplier, classes, title, proof, rates).with_meanings(meanings)

    def with_meanings(self, meanings: Iterable[BinaryColumn]) -> ScoreCard:
        """The same card, told what its 0/1 columns say about the original table.

        The calculator then asks for the age once instead of once per threshold, and the table of risks lists only totals that
        can occur.
        """
        by_name = {meaning.name: meaning for meaning in meanings}
        lines = tuple(
            replace(line, meaning=by_name[line.feature]) if line.kind == "binary" and line.feature in by_name else line
            for line in self.lines
        )
        return replace(self, lines=lines)

    @property
    def notes(self) -> list[str]:
        """What is said about the card below it: what is proven, and what it does to groups."""
        return [note for note in ("" if self.proof is None else self.proof.sentence, self.rates) if note]

    @property
    def heading(self) -> str:
        name = risk_name(self.classes[1])
        return self.title or name[0].upper() + name[1:]

    @cached_property
    def table(self) -> RiskTable:
        return risk_table(self.lines, self.intercept, float(self.multiplier))

    def total(self, values: Mapping[str, float]) -> float:
        """Total points of a person, given the value of every line's feature."""
        missing = [line.feature for line in self.lines if line.feature not in values]
        if missing:
            raise ValueError(f"values lacks {missing[0]!r}, which has points on the card.")
        return float(sum(line.points * float(values[line.feature]) for line in self.lines))

    def totals(self, X: Any) -> FloatArray:
        """Total points of every row of a table that has the columns of all lines."""
        return card_totals(self, X)

    def risk(self, total: float) -> float:
        """Risk of a total: the probability of the positive class."""
        return risk_of(total, self.intercept, float(self.multiplier))

    @cached_property
    def text(self) -> str:
        return card_text(self)

    @cached_property
    def html(self) -> str:
        return card_html(self)

    @cached_property
    def svg(self) -> str:
        return card_svg(self)

    @cached_property
    def latex(self) -> str:
        return card_latex(self)

    @property
    def json(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=True, allow_nan=False, indent=1)

    def calculator(self) -> str:
        """One HTML page that works offline: fill in the fields and read off score and risk."""
        return calculator_page(self)

    def plot(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Three pictures of the card at work on a table: reliability, ROC curve with thresholds, distribution of the totals.

        Parameters
        ----------
        X : data frame or other table with the columns that have points
        y : array-like of shape (n_rows,)
            Classes, by the names on the card.
        sample_weight : array-like of shape (n_rows,), optional

        Returns
        -------
        matplotlib.figure.Figure
        """
        return plot_card(self, X, y, sample_weight)

    def scaled(
        self, *, base_score: float = 600, base_odds: float = 50, points_to_double: float = 20, rising: bool = False
    ) -> ScaledCard:
        """The card in the points of a trade: a base score at base odds, and points to double the odds.

        Parameters
        ----------
        base_score : float, default=600
            Score of a person whose odds are ``base_odds`` to 1.
        base_odds : float, default=50
            Odds of the class whose risk the card does not give ("good"); with ``rising``, of the one whose risk it gives.
        points_to_double : float, default=20
            Points that double these odds.
        rising : bool, default=False
            Whether a higher score is a higher risk.

        Returns
        -------
        ScaledCard
            Every answer to every question with its whole points, a table of scores and risks, ``scores(X)`` for the rows of a
            table, and how far whole points may be from the exact score; prints readably.
        """
        return ScaledCard(self, base_score, base_odds, points_to_double, rising)

    def reasons(self, people: Any, *, most: int = 4, typical: Any = None) -> Any:
        """The answers that add most to the risk of a person, those that add most first.

        Parameters
        ----------
        people : mapping of str to number, row of a data frame, data frame, or other table with named columns
            Values of the columns that have points, for one person or for every row.
        most : int, default=4
            Most reasons to name.
        typical : data frame or other table with named columns, optional
            People to compare with: an answer counts by its points above their mean points. Without it, by its points above
            those of the best answer to the same question.

        Returns
        -------
        tuple of CardReason
            For one person; for a table a list of them, one for each row. Answers that add nothing are no reasons.
        """
        return card_reasons(self, people, most, typical)

    def decision_curve(self, X: Any, y: Any, *, thresholds: Iterable[float] = (), sample_weight: Any = None) -> Any:
        """Net benefit of acting on people from a risk on: by the card, on everybody; acting on nobody has 0.

        Parameters
        ----------
        X : data frame or other table with the columns that have points
        y : array-like of shape (n_rows,)
            Classes, by the names on the card.
        thresholds : iterable of float, optional
            Risks from which one might act; by default 0.01 to 0.99.
        sample_weight : array-like of shape (n_rows,), optional

        Returns
        -------
        data frame
            Columns ``threshold``, ``card`` and ``all``.
        """
        rows, at = scored_rows(self, X, y, sample_weight), threshold_grid(thresholds)
        risks = np.array([self.risk(total) for total in rows.totals])
        own, everybody = net_benefit(risks, rows.positive, at, rows.weights), benefit_for_all(rows.positive, at, rows.weights)
        return build_frame({"threshold": at, "card": own, "all": everybody}, frame_library(X))

    def group_rates(self, X: Any, y: Any, groups: Any, *, risk: float = 0.5, sample_weight: Any = None) -> Any:
        """What the card does to groups of the rows of a table.

        Parameters
        ----------
        X : data frame or other table with the columns that have points
        y : array-like of shape (n_rows,)
            Classes, by the names on the card.
        groups : str or array-like of shape (n_rows,)
            The group of each row, or the name of the column of ``X`` that says so.
        risk : float, default=0.5
            Flagged is a row with a risk above it.
        sample_weight : array-like of shape (n_rows,), optional

        Returns
        -------
        data frame
            A row for every group: ``group``, ``weight``, ``observed`` (share of the class whose risk the card gives),
            ``predicted`` (mean risk), the shares that are flagged, ``selection`` of all rows, ``tpr`` of those of that class,
            ``fpr`` of the others, and ``calibration``, which is ``predicted`` less ``observed``.
        """
        return card_group_rates(self, X, y, groups, risk, sample_weight)

    def judge(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        max_features: int | None = None,
        max_points: int | None = None,
        constraints: Any = (),
        time_limit: float | None = 60.0,
        n_jobs: int | None = None,
    ) -> CardJudgement:
        """How good the card is on a table, and how far from the best card of its form, with proven bounds.

        Compared are all cards with up to as many columns of ``X``, points up to as large, an intercept up to 100 or that of
        this one, and a multiplier of 1 if this one has that, or else of the range that a fit with ``scale="free"`` searches,
        widened to that of this card. The search for the best of them is exact.

        Parameters
        ----------
        X : data frame or other table with named columns
            Numbers. All columns may be used by the cards that are compared; the card needs those that have points.
        y : array-like of shape (n_rows,)
            Classes, by the names on the card.
        sample_weight : array-like of shape (n_rows,), optional
        max_features, max_points : int, optional
            Other limits than those that the card itself keeps.
        constraints : list of rules from :mod:`surefoot.constraints`, default=()
            What the cards that are compared obey, and this one should.
        time_limit : float, default=60.0
            Most seconds to look for better cards; None for as long as it takes. What was proven by then holds.
        n_jobs : int, optional
            Threads.

        Returns
        -------
        CardJudgement
            Loss, calibration, a ``certificate``, the ``best`` card found, and a ``verdict`` in words; prints readably.
        """
        # Only here: it needs a search, which printing a card does not.
        from surefoot.riskscore.estimator.card_judgement import judge_card

        return judge_card(
            self,
            X,
            y,
            sample_weight=sample_weight,
            max_features=max_features,
            max_points=max_points,
            constraints=constraints,
            time_limit=time_limit,
            n_jobs=n_jobs,
        )

    def __str__(self) -> str:
        return self.text

    def to_frame(self, library: str | None = None) -> Any:
        """The lines of the card: ``feature``, ``points`` and ``kind``, as a data frame; of pandas where none is named."""
        fields = ("feature", "points", "kind")
        return build_frame({name: [getattr(line, name) for line in self.lines] for name in fields}, library)

    def _repr_html_(self) -> str:
        return self.html

    def to_dict(self) -> dict[str, Any]:
        """The card as JSON-ready containers."""
        return {
            "format": _FORMAT,
            "version": _VERSION,
            "title": self.title,
            "classes": list(self.classes),
            "intercept": self.intercept,
            "multiplier": float(self.multiplier),
            "lines": [line.to_dict() for line in self.lines],
            "proof": None if self.proof is None else self.proof.to_dict(),
            **({"rates": self.rates} if self.rates else {}),
        }

    @classmethod
    def from_json(cls, document: str) -> ScoreCard:
        """The card that :attr:`json` wrote; anything else raises ``ValueError`` and says what is wrong where."""
        card = PlainReader.parse(document, "the score card")
        if card.text("format") != _FORMAT:
            raise ValueError(f"the document is a {card.text('format')!r:.80}, not a {_FORMAT!r}.")
        if card.whole("version") != _VERSION:
            raise ValueError(f"the card has version {card.whole('version')}; this program reads version {_VERSION}.")
        classes = card.field("classes")
        names = [entry.content for entry in card.items("classes")]
        if len(names) != 2 or not all(isinstance(name, str) for name in names):
            raise ValueError(f"{classes.place} must be two names.")
        proof = card.optional("proof")
        return cls(
            lines=tuple(CardLine.read(entry) for entry in card.items("lines")),
            intercept=card.whole("intercept"),
            multiplier=card.field("multiplier").number(),
            classes=(names[0], names[1]),
            title=card.text("title"),
            proof=None if proof is None else CardProof.read(proof),
            rates="" if card.optional("rates") is None else card.text("rates"),
        )
