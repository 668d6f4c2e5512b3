"""How much of a model's change of loss comes from other rows, and how much from other answers to the same rows.

With p and q the distributions of the columns in the two tables, and R_a(x), R_b(x) the mean loss of rows with columns x there,
all that can be compared is where both tables have rows. Let s be the shared distribution, s(x) proportional to
p(x) q(x) / (p(x) + q(x)). Then, exactly,

    E_b loss - E_a loss  =  ( E_s R_a - E_a R_a )        inputs: rows of a that b hardly has
                          + ( E_s R_b - E_s R_a )        relation: other answers to shared rows
                          + ( E_b R_b - E_s R_b ),       inputs: rows of b that a hardly has

the decomposition of Cai, Namkoong and Yadlowsky, "Diagnosing model performance under distribution shift" (2023). With pi(x) the
probability that a row is from b rather than a, both equally likely, s / p is proportional to pi and s / q to 1 - pi. So
weighted means of the losses are all that is needed, with weights between 0 and 1, and a classifier for pi
(:mod:`surefoot.shift.comparison.domain_classifier`).

Answers to the same rows may change without a change of the mean loss, where some get easier and others harder. So of models of
two classes the share of the second class minus its predicted probability is compared on the shared rows, too.

Intervals are bootstrap percentiles; every resample fits the classifier anew. What is assumed: rows are independent, all that
matters of the inputs is in the columns, the classifier is right, and the model was fitted to none of the rows: the loss of
rows that it was fitted to is too low, and the difference would look like a change of the answers. Losses of such rows are
those of models fitted without them, where the rows are recognised (:mod:`surefoot.sklearn_api.rows_of_fit`). Where the tables
share too little there is no answer, and none is given.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.shift.comparison.domain_classifier import DomainClassifier
from surefoot.shift.comparison.resampled_interval import resampled_quantiles


@dataclass(frozen=True)
class DecompositionParameters:
    """When there is no answer, and how many rows take part.

    Overlap and rows were set on simulated normal columns, and looked at again on heloc, adult, shoppers, framingham, compas and
    diabetes_source: rows of one table, parted by three of its numeric columns, so that the relation is the same in both parts,
    100 to 500 rows each, 234 pairs. Where true overlaps were about 0.1 to 0.8, the interval of the relation held 0 in all 136;
    where they were 0.003 to 0.05, in 95 of 98 (it should in 97.5 %). The least overlap is no fine sieve: the classifier is
    penalised, and overlaps below 0.05 were found as 0.09 to 0.58 from so few rows.
    """

    # The integral of 2 p q / (p + q): 1 for equal distributions, 0.1 for normal ones 3.4 standard deviations apart.
    least_overlap: float = 0.1
    # Of weights, (sum w)^2 / sum w^2.
    least_effective_rows: float = 30.0
    # Rows of each table.
    most_rows: int = 5000


PARAMETERS = DecompositionParameters()

# Of tables that the model was fitted to: losses of models without the row, or its own, which are too low.
HELD_OUT, IN_SAMPLE = "held out", "in sample"


@dataclass(frozen=True)
class Part:
    """A number and its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:+.4f} ({self.low:+.4f} to {self.high:+.4f})"

    @property
    def told(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True)
class Calibration:
    """Predicted probability and observed share of the second class.

    Attributes
    ----------
    name : str
        Of the second class.
    predicted, observed : pair of float
        Means over either table.
    drift : Part or None
        By how much more often than predicted it occurs in the second table than in the first, on shared rows.
    """

    name: str
    predicted: tuple[float, float]
    observed: tuple[float, float]
    drift: Part | None

    def __str__(self) -> str:
        before, after = (
            f"{said:.1%} predicted, {seen:.1%} observed" for said, seen in zip(self.predicted, self.observed, strict=True)
        )
        return f"{self.name}: {before}; now {after}"


@dataclass(frozen=True)
class Decomposition:
    """The change of a model's mean log loss from one table to another, and where it comes from.

    Attributes
    ----------
    loss_a, loss_b : float
    change : Part
    inputs : Part or None
        Due to other rows; None where the tables share too little.
    relation : Part or None
        Due to other answers to the same rows.
    rows_of_a, rows_of_b : Part or None
        The two parts of ``inputs``: rows of either table that the other hardly has.
    calibration : Calibration or None
        None for models of more than two classes.
    overlap : float
        How much the tables share, from 0 to 1.
    effective_rows : pair of float
        To how many rows of equal weight the shared ones of either table amount.
    level : float
        1 - the coverage of the intervals; those of ``relation`` and of the drift of ``calibration`` share it.
    n_rows : pair of int
        Rows that took part.
    rows_of_fit : pair of str
        "" for a table that is not known to be the rows that the model was fitted to; "held out" where it is, and its losses are
        those of models without the row; "in sample" where there are no such models.
    """

    loss_a: float
    loss_b: float
    change: Part
    inputs: Part | None
    relation: Part | None
    rows_of_a: Part | None
    rows_of_b: Part | None
    calibration: Calibration | None
    overlap: float
    effective_rows: tuple[float, float]
    level: float
    n_rows: tuple[int, int]
    rows_of_fit: tuple[str, str] = ("", "")

    @property
    def told_apart(self) -> bool:
        """Whether the tables share enough for an answer."""
        return self.inputs is not None

    @property
    def in_words(self) -> tuple[str, str]:
        """The change of the loss and of what is observed, and what to make of it."""
        said = f"Mean log loss {self.loss_a:.4f} to {self.loss_b:.4f}: {self.change}."
        if self.told_apart:
            return said, self._verdict()
        return said, f"Whether inputs or their relation to the label changed cannot be told apart: {self._why_untold()}."

    def __str__(self) -> str:
        said, verdict = self.in_words
        lines = [said]
        if self.told_apart:
            lines += [f"  inputs    {self.inputs}", f"  relation  {self.relation}"]
        if self.calibration is not None:
            lines.append(f"  {self.calibration}")
        return "\n".join([*lines, verdict, *([self.whose_rows] if self.whose_rows else [])])

    @property
    def whose_rows(self) -> str:
        """What the losses of rows that a model was fitted to are; nothing where that does not matter."""
        for which, rows in zip(("first", "second"), self.rows_of_fit, strict=True):
            if rows == HELD_OUT:
                return f"The model was fitted to the {which} table: each row of it is judged by a model fitted without the row."
        if self.answers_changed and not any(self.rows_of_fit):
            return (
                "This takes for granted that the model was fitted to other rows than these: of rows that it was fitted to, its "
                "loss is too low."
            )
        return ""

    @property
    def answers_changed(self) -> bool | None:
        """Whether the same rows get other answers, by loss or by calibration; None where that cannot be told."""
        if self.relation is None or IN_SAMPLE in self.rows_of_fit:
            return None
        drift = None if self.calibration is None else self.calibration.drift
        return self.relation.told or (drift is not None and drift.told)

    def _why_untold(self) -> str:
        least, worth = PARAMETERS.least_effective_rows, f"{min(self.effective_rows):.0f} rows"
        if self.overlap < PARAMETERS.least_overlap:
            return f"the tables share too few rows (overlap {self.overlap:.2f}, worth {worth})"
        needed = f"what they share is worth {worth}, and {least:.0f} are needed"
        # Also tables that lie over each other are worth fewer rows than they have: who is from where is an estimate.
        if min(self.n_rows) < 2 * least:
            return f"the tables are small ({self.n_rows[0]:,} and {self.n_rows[1]:,} rows; {needed})"
        return f"the tables share too few rows (overlap {self.overlap:.2f}; {needed})"

    def _verdict(self) -> str:
        assert self.inputs is not None and self.relation is not None
        if IN_SAMPLE in self.rows_of_fit:
            which = ("first", "second")[self.rows_of_fit.index(IN_SAMPLE)]
            return (
                f"The model was fitted to the {which} table, so its loss there is too low: whether answers to the same rows "
                "have changed cannot be told. Compare with rows that it was not fitted to."
            )
        balance = self._balance()
        if not self.answers_changed:
            if balance:
                return f"{balance} Answers to the same rows have not changed, as far as this shows."
            if self.inputs.told:
                return "Other rows changed the loss; answers to the same rows have not changed, as far as this shows."
            return "Neither other rows nor other answers to the same rows changed the loss beyond chance."
        drift = None if self.calibration is None else self.calibration.drift
        found = "Answers to the same rows have changed"
        if self.calibration is not None and drift is not None and drift.told:
            often = f"{100 * abs(drift.value):.1f} points {'more' if drift.value > 0 else 'less'} often"
            found += f": {self.calibration.name} occurs {often} than in the first table"
        loss = "" if self.relation.told else ", though the mean loss does not show it"
        if balance:
            return f"{found}{loss}. {balance}"
        return f"{found}{loss}." + (" Other rows changed the loss, too." if self.inputs.told else "")

    def _balance(self) -> str:
        """That the loss is much as it was although a part of its change is beyond chance; nothing otherwise."""
        assert self.inputs is not None and self.relation is not None
        if self.change.told or not (self.inputs.told or self.relation.told):
            return ""
        named = (("other rows", self.inputs), ("other answers to the same rows", self.relation))
        parts = [f"{name} {part.value:+.4f}{'' if part.told else ' (no more than chance)'}" for name, part in named]
        return f"The mean loss hardly changed ({self.change.value:+.4f}, no more than chance): {' and '.join(parts)}."


@dataclass(frozen=True, eq=False)
class Judged:
    """What a model said of the rows of a table, and what happened.

    Attributes
    ----------
    losses : ndarray of shape (n_rows,)
    predicted, observed : ndarray of shape (n_rows,), or None
        Of the second class of two.
    """

    losses: FloatArray
    predicted: FloatArray | None = None
    observed: FloatArray | None = None

    @property
    def outcomes(self) -> FloatArray:
        """Loss, and observed minus predicted, of each row."""
        if self.predicted is None or self.observed is None:
            return self.losses[:, None]
        return np.column_stack([self.losses, self.observed - self.predicted])


def decomposition(
    domains: DomainClassifier,
    judged: tuple[Judged, Judged],
    class_name: str,
    *,
    n_resamples: int,
    level: float,
    rng: np.random.Generator,
) -> Decomposition:
    """Weighted means of the losses, on the rows as they are and on bootstrap samples."""
    n_rows = judged[0].losses.size, judged[1].losses.size
    outcomes = np.concatenate([own.outcomes for own in judged])
    once = np.ones(len(outcomes))
    probabilities, starts = domains.probabilities(once)
    first = domains.second < 0
    shares = np.where(first, probabilities, 1.0 - probabilities)
    # The mean of 2 pi over rows of a, and that of 2 (1 - pi) over rows of b, are the same integral.
    overlap = min(float(shares[first].mean() + shares[~first].mean()), 1.0)
    effective = [float(np.square(own.sum()) / np.square(own).sum()) for own in (shares[first], shares[~first])]
    found = _terms(shares, outcomes, once, first)
    enough = overlap >= PARAMETERS.least_overlap and min(effective) >= PARAMETERS.least_effective_rows
    drawn = np.empty((n_resamples, *found.shape))
    for at in range(n_resamples):
        counts = np.concatenate([rng.multinomial(n, np.full(n, 1.0 / n)) for n in n_rows]).astype(np.float64)
        if enough:
            resampled, _ = domains.probabilities(counts, starts)
            shares = np.where(first, resampled, 1.0 - resampled)
        drawn[at] = _terms(shares, outcomes, counts, first)

    def part(term: int, outcome: int = 0) -> Part:
        # Whether answers have changed is asked of the loss and of the calibration: both share the level.
        questions = found.shape[1] if term == _RELATION else 1
        return Part(float(found[term, outcome]), *resampled_quantiles(drawn[:, term, outcome], level / questions))

    return Decomposition(
        loss_a=float(judged[0].losses.mean()),
        loss_b=float(judged[1].losses.mean()),
        change=part(0),
        inputs=part(_INPUTS) if enough else None,
        relation=part(_RELATION) if enough else None,
        rows_of_a=part(_RELATION + 1) if enough else None,
        rows_of_b=part(_RELATION + 2) if enough else None,
        calibration=_calibration(judged, class_name, part(_RELATION, 1) if enough and found.shape[1] > 1 else None),
        overlap=overlap,
        effective_rows=(effective[0], effective[1]),
        level=level,
        n_rows=n_rows,
    )


def _calibration(judged: tuple[Judged, Judged], name: str, drift: Part | None) -> Calibration | None:
    means = [
        (float(own.predicted.mean()), float(own.observed.mean()))
        for own in judged
        if own.predicted is not None and own.observed is not None
    ]
    if len(means) < 2:
        return None
    (said_a, seen_a), (said_b, seen_b) = means
    return Calibration(name, (said_a, said_b), (seen_a, seen_b), drift)


# Places of the terms below.
_INPUTS, _RELATION = 1, 2


def _terms(shares: FloatArray, outcomes: FloatArray, counts: FloatArray, first: BoolArray) -> FloatArray:
    """Change, inputs, relation, and the two parts of the inputs, of every outcome."""
    mean, shared = [], []
    for own in (first, ~first):
        weights = counts[own] * shares[own]
        mean.append(counts[own] @ outcomes[own] / counts[own].sum())
        shared.append(weights @ outcomes[own] / weights.sum())
    of_a, of_b = shared[0] - mean[0], mean[1] - shared[1]
    return np.array([mean[1] - mean[0], of_a + of_b, shared[1] - shared[0], of_a, of_b])
