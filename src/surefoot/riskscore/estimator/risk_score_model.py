"""What a fitted score card knows and answers: scores, classes, probabilities, the printed card, its worst shift."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from surefoot.core.arrays import AnyArray, FloatArray, IntArray
from surefoot.core.certificate import Certificate
from surefoot.core.outcome import SolveOutcome
from surefoot.design.binarize.binary_column import BinaryColumn
from surefoot.design.encode.mixed_design import MixedDesign
from surefoot.design.encode.schema import Schema
from surefoot.design.encode.table_encoder import TableEncoder
from surefoot.exceptions import CertificateError
from surefoot.reports.card.card_proof import CardProof
from surefoot.reports.card.rates_by_group import Rates, rates_frame, rates_sentence
from surefoot.reports.card.score_card import ScoreCard
from surefoot.riskscore.estimator.card_worst_case import card_worst_case
from surefoot.riskscore.estimator.near_optimal import NearOptimalSet
from surefoot.riskscore.estimator.printed_card import print_card, value_ranges
from surefoot.riskscore.problem.problem import RiskScore
from surefoot.robust.estimator.worst_case import WorstCase
from surefoot.sklearn_api.binary_classifier import LogisticClassifier
from surefoot.sklearn_api.finite_model import require_finite_model
from surefoot.sklearn_api.number_table import Remedies, dense, read_number_table
from surefoot.sklearn_api.proven_model import CHANGED, ProvenModel, has_changed, told_change
from surefoot.sklearn_api.training_rows import TrainingRows, require_columns_of_training, set_columns_of_training

REMEDIES = Remedies(
    text="A score card multiplies columns by points: put ThresholdBinarizer before this model, which makes 0/1 columns of text "
    "and categories, or convert the column.",
    gap="ThresholdBinarizer(missing='column') before this model, which makes 'missing' a column of its own",
)


class RiskScoreModel(ProvenModel, LogisticClassifier, BaseEstimator):
    """The part of :class:`~surefoot.RiskScoreClassifier` that comes after the search."""

    points_: dict[str, int]
    intercept_: int
    multiplier_: float
    coef_: IntArray
    certificate_: Certificate
    outcome_: SolveOutcome[RiskScore, Any]
    near_optimal_: NearOptimalSet | None
    solver_: str
    schema_: Schema
    # Files from before there was a choice lack it.
    _turned: bool = False
    _group_rates: Mapping[str, Rates] = MappingProxyType({})
    _library: str | None = None
    later_parameters: ClassVar[Mapping[str, Any]] = {"pos_label": None}

    @property
    def pos_label_(self) -> Any:
        """The class whose risk the card gives."""
        return self.card_classes_.tolist()[1]

    @property
    def card_classes_(self) -> AnyArray:
        """The classes as the card speaks of them: the other one, and the one whose risk it gives."""
        check_is_fitted(self)
        return self.classes_[::-1] if self._turned else self.classes_

    def group_rates(self) -> Any:
        """A data frame with a row for every group of training rows that a rule compares; None without ``FairRates``.

        Columns: ``group``, ``weight``, ``observed`` (share of ``pos_label_``), ``predicted`` (mean risk), and the shares that
        are flagged, ``selection`` of all rows, ``tpr`` of those of ``pos_label_``, ``fpr`` of the others; ``calibration`` is
        ``predicted`` less ``observed``. :meth:`surefoot.ScoreCard.group_rates` is the same for other rows and groups.
        """
        check_is_fitted(self)
        return rates_frame(self._group_rates, self._library) if self._group_rates else None

    def predict(self, X: Any) -> AnyArray:
        """The class of each row: ``pos_label_`` where its score is above 0.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        classes: AnyArray = self.card_classes_[(self._log_odds(X) > 0).astype(np.intp)]
        return classes

    def decision_function(self, X: Any) -> FloatArray:
        """The log odds of the second of ``classes_`` for each row: its score, intercept included, over ``multiplier_``.

        Where ``pos_label_`` is the first of them, minus that.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        log_odds = self._log_odds(X)
        return -log_odds if self._turned else log_odds

    def _log_odds(self, X: Any) -> FloatArray:
        """The log odds of ``pos_label_`` for each row."""
        block = dense(self._design(X).numeric)
        used = np.flatnonzero(self.coef_[0])
        scores: FloatArray = block[:, used] @ self.coef_[0, used].astype(np.float64) + self.intercept_
        return scores / self.multiplier_

    def score_card(self, *, title: str = "", meanings: Iterable[BinaryColumn] = ()) -> ScoreCard:
        """The card for people: ``text``, ``html``, ``svg``, ``latex``, ``json`` and ``calculator()``; it prints readably.

        Parameters
        ----------
        title : str, default=""
            Heading; by default "Risk of ..." with the name of the positive class.
        meanings : iterable of BinaryColumn, optional
            What 0/1 columns say about the original table: ``columns_`` of the ``ThresholdBinarizer`` that made them.
        """
        check_is_fitted(self)
        found = self.certificate_
        if has_changed(self):
            proof = CardProof.void(told_change(self), self._n_rows)
        else:
            recomputed = re.search(r"(?:All|Recomputed were) [0-9,]+ .*of its proof.*$", found.claim)
            refused = re.search(r"the (proof is refused because .*?\.)(?: [A-Z]|$)", found.claim)
            proof = CardProof(
                found.upper_bound,
                found.lower_bound,
                found.relative_gap,
                verified=found.verified,
                rows=self._n_rows,
                recomputed=recomputed[0] if recomputed else f"Its {refused[1]}" if refused else "",
            )
        return print_card(
            self.points_,
            self.intercept_,
            self.multiplier_,
            self.card_classes_,
            self._ranges,
            proof,
            title=title,
            meanings=meanings,
            rates="" if has_changed(self) else self._told_rates,
        )

    @property
    def _told_rates(self) -> str:
        first, second = map(str, self.card_classes_.tolist())
        return rates_sentence(self._group_rates, (first, second))

    def worst_case(self, X: Any, y: Any, *, radius: float | None = None) -> WorstCase:
        """The shift of a table that would hurt this card most, at the prices of ``radius`` and ``shift`` above.

        Parameters
        ----------
        X : data frame, 2-d array, or scipy sparse matrix
        y : array-like of shape (n_rows,)
            Labels among ``classes_``.
        radius : float, optional
            How far the table may shift; None means as far as in the fit.

        Returns
        -------
        WorstCase
            ``table`` (row, mass, feature, from, to), ``expected_loss``, ``nominal_loss`` and ``summary()``; prints readably.
            Columns without points do not matter, and are not in it.
        """
        return card_worst_case(self, X, self._design(X), y, radius)

    def _design(self, X: Any) -> MixedDesign:
        """The columns of training as numbers."""
        require_columns_of_training(self, X)
        return TableEncoder.from_schema(self.schema_).encode(read_number_table(X, REMEDIES))

    def _unpack(
        self,
        rows: TrainingRows,
        block: FloatArray,
        outcome: SolveOutcome[RiskScore, Any],
        certificate: Certificate,
        solver: str,
        library: str | None,
        *,
        turned: bool = False,
        rates: Mapping[str, Rates] = MappingProxyType({}),
    ) -> None:
        """Take over what predictions need. Nothing is set before a fit has succeeded, so a failed one leaves no trace."""
        schema, card = rows.design.schema, outcome.primal
        require_finite_model(f"{type(self).__name__}.fit", card.points, card.intercept, card.multiplier)
        self.schema_ = schema
        self.classes_ = rows.classes
        self._turned = turned
        self._group_rates, self._library = dict(rates), library
        self.points_ = {schema.names[at]: int(card.points[at]) for at in np.flatnonzero(card.points)}
        self.intercept_ = int(card.intercept)
        self.multiplier_ = float(card.multiplier)
        self.coef_ = card.points[None, :].copy()
        self.outcome_ = outcome
        self.certificate_ = certificate
        near = getattr(outcome.dual, "near_optimal", None)
        self._n_rows = len(block)
        self._ranges = value_ranges(block, schema.names, card.points)
        self.near_optimal_ = None if near is None else NearOptimalSet(near, schema.names, library)
        self.solver_ = solver
        set_columns_of_training(self, schema.names, named=schema.named)
        self._seal_proof()

    def _answer(self) -> RiskScore:
        """The card as its public numbers say; points by name and by position must agree."""
        names = self.schema_.names
        listed = {names[at]: int(self.coef_[0, at]) for at in np.flatnonzero(self.coef_[0])}
        if listed != self.points_:
            raise CertificateError(f"{CHANGED}: points_ and coef_ contradict each other.")
        points = np.ascontiguousarray(self.coef_[0], dtype=np.int32)
        if not (np.array_equal(points, self.coef_[0]) and float(self.intercept_).is_integer()):
            raise CertificateError(f"{CHANGED}: points and intercept of a card are whole numbers.")
        return RiskScore(int(self.intercept_), points, float(self.multiplier_))

    def _require_printed_rows(self, block: FloatArray) -> None:
        """Raise unless the printed card speaks of these rows: how many there are, and which values they have."""
        if self._n_rows != len(block):
            raise CertificateError(f"{CHANGED}: its card speaks of {self._n_rows} rows, and {len(block)} were proven.")
        ranges = value_ranges(block, self.schema_.names, self.coef_[0])
        for name, found in ranges.items():
            if tuple(self._ranges[name]) != found:
                told = f"its card says {self._ranges[name]} of {name!r:.80}, and {found} was proven"
                raise CertificateError(f"{CHANGED}: {told}.")

    def _require_told_rates(self, rates: Mapping[str, Rates]) -> None:
        """Raise unless the rates of groups that the card tells are those of these rows."""
        told = self._group_rates
        same = list(told) == list(rates) and all(np.allclose(told[name], rates[name], 1e-9, 1e-12, True) for name in rates)
        if not same:
            raise CertificateError(f"{CHANGED}: it tells other rates of groups than these rows have.")

    def _proven_numbers(self) -> Mapping[str, Any]:
        names = ("coef_", "intercept_", "multiplier_", "points_", "classes_", "_ranges", "_n_rows")
        # Said only where it is so: seals of earlier models know nothing of it.
        turned = {"turned": True} if self._turned else {}
        rates = {f"rates of {name}": np.array(own) for name, own in self._group_rates.items()}
        return {**{name: getattr(self, name) for name in names}, **turned, **rates, "schema_": self.schema_.to_dict()}
