"""The shift that would hurt a fitted model most, in the words of its table.

The table shows one distribution within the radius and within one millionth of the largest expected loss
(:mod:`surefoot.robust.attained_shift`), so that every line of it is a move that can be checked.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot.core.arrays import AnyArray, BoolArray, FloatArray, RowArray
from surefoot.design.encode.schema import Level, Schema
from surefoot.design.write.output_frame import build_frame
from surefoot.design.write.shown_table import shown_table
from surefoot.robust.attained_shift import Atoms, NumericMove, numeric_move
from surefoot.robust.problem.numeric_columns import as_dense, is_sparse
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem
from surefoot.robust.sqp.adversary import WorstCaseDistribution

LABEL_FEATURE = "(label)"
# Moves listed in the printed form before it says "and so many more".
_LISTED = 10
# Of a mean loss, relative: moves that raise it by no more raise it by nothing that could be told.
_ROUNDING = 1e-14
# Numbers of the moves that are not from one level to another: flips away from either class, then numeric columns, downwards.
_FLIP_MOVES, _FIRST_NUMERIC_MOVE = (-2, -1), -3


@dataclass(frozen=True, eq=False)
class Moves:
    """Every single move of a distribution; moves that one atom makes together carry the same ``shift``.

    ``ranged`` says which go to an end of the range of a numeric column.
    """

    row: RowArray
    mass: FloatArray
    feature: list[Level]
    origin: list[Level]
    target: list[Level]
    budget: FloatArray
    kind: RowArray
    shift: RowArray
    ranged: BoolArray

    @property
    def none(self) -> Moves:
        """The same without any move."""
        return Moves(**{one.name: getattr(self, one.name)[:0] for one in fields(self)})


@dataclass(frozen=True, eq=False)
class WorstCase:
    """The adversary's best distribution within the radius, for one model and one table.

    Attributes
    ----------
    table : data frame
        One line per moved value: ``row`` (position in the table, from 0), ``mass`` (fraction of the whole table that moves),
        ``feature``, ``from``, ``to``. Mass that is not listed stays where it is. A part of a row that moves in several
        features at once has several lines, one after the other, which carry the same mass. Label flips have the feature
        "(label)".
    expected_loss : float
        Mean log loss under that distribution.
    nominal_loss : float
        Mean log loss of the table as it is.
    price : float
        How much the expected loss would grow per unit of additional radius.
    radius : float
    numeric_budget : float
        The part of the radius that is spent on numeric columns without a range.
    shift : ndarray of shape (n_lines,)
        Number of the joint move that each line of ``table`` belongs to.
    """

    table: Any
    expected_loss: float
    nominal_loss: float
    price: float
    radius: float
    numeric_budget: float
    shift: RowArray
    _moves: Moves = field(repr=False)
    _library: str | None = field(repr=False)
    _binary: frozenset[Level] = field(default=frozenset(), repr=False)

    @property
    def endless_binary(self) -> tuple[Level, ...]:
        """Columns of the numbers 0 and 1 alone that move without end: as categories they would flip instead."""
        summed = self.summed()
        parts = zip(summed["feature"], summed["from"], summed["to"], strict=True)
        return tuple(name for name, old, new in parts if old is None and new is None and name in self._binary)

    def summary(self) -> Any:
        """What hurts most: equal moves added up over the rows.

        Returns
        -------
        data frame
            ``feature``, ``from``, ``to``, ``mass`` (fraction of the table that makes this move) and ``budget`` (the part of the
            radius that it costs), by falling budget. A move of a numeric column to an end of its range comes ``from`` all the
            numbers that go there, such as "18 to 45". One along a numeric column without a range has neither ``from`` nor
            ``to``.
        """
        return build_frame(self.summed(), self._library)

    def summed(self) -> dict[str, Any]:
        """The same as plain lists and arrays, by the names of the columns."""
        moves = self._moves
        kinds, first, group = np.unique(moves.kind, return_index=True, return_inverse=True)
        mass = np.bincount(group, weights=moves.mass, minlength=kinds.size).astype(np.float64)
        budget = np.bincount(group, weights=moves.budget, minlength=kinds.size).astype(np.float64)
        order = np.argsort(-budget, kind="stable")
        at = first[order].tolist()
        origins: list[Level] = [moves.origin[k] for k in at]
        targets: list[Level] = [moves.target[k] for k in at]
        for line, (k, g) in enumerate(zip(at, order.tolist(), strict=True)):
            if moves.ranged[k]:
                numbers = np.array([moves.origin[member] for member in np.flatnonzero(group == g)], dtype=np.float64)
                origins[line] = " to ".join(dict.fromkeys(f"{end:.6g}" for end in (numbers.min(), numbers.max())))
                targets[line] = _plain_number(float(str(moves.target[k])))
            elif kinds[g] <= _FIRST_NUMERIC_MOVE:
                origins[line] = targets[line] = None
        return {
            "feature": [moves.feature[k] for k in at],
            "from": origins,
            "to": targets,
            "mass": mass[order],
            "budget": budget[order],
        }

    def to_frame(self) -> Any:
        """The same as ``table``."""
        return self.table

    def _repr_html_(self) -> str:
        summed = self.summed()
        rows = [
            ("" if old is None else str(old), "" if new is None else str(new), f"{mass:.4g}", f"{budget:.4g}")
            for old, new, mass, budget in zip(*(summed[name] for name in ("from", "to", "mass", "budget")), strict=True)
        ]
        named = [(str(name), *row) for name, row in zip(summed["feature"], rows, strict=True)]
        remarks = () if named else ("No shift within the radius raises it.",)
        return shown_table(self._heading, ("feature", "from", "to", "mass", "budget"), named, remarks)

    @property
    def _heading(self) -> str:
        return (
            f"Worst case within radius {self.radius:g}: expected log loss {self.expected_loss:.6g} "
            f"(as the table is: {self.nominal_loss:.6g})"
        )

    def __str__(self) -> str:
        heading = self._heading
        summed = self.summed()
        count = len(summed["feature"])
        if count == 0:
            return f"{heading}\n  No shift within the radius raises it."
        cells = [["feature", "from", "to", "mass", "budget"]]
        for k in range(min(count, _LISTED)):
            ends = [str(summed["from"][k]), str(summed["to"][k])]
            if summed["from"][k] is None:
                ends = ["(any value)", "(far away)"]
            cells.append([str(summed["feature"][k]), *ends, f"{summed['mass'][k]:.4g}", f"{summed['budget'][k]:.4g}"])
        widths = [max(len(line[at]) for line in cells) for at in range(5)]
        lines = [
            "  ".join([*(line[at].ljust(widths[at]) for at in range(3)), *(line[at].rjust(widths[at]) for at in (3, 4))])
            for line in cells
        ]
        more = [f"  ... and {count - _LISTED} more"] if count > _LISTED else []
        parts = zip(summed["feature"], summed["from"], summed["to"], strict=True)
        binary = self.endless_binary
        endless = [str(name) for name, old, new in parts if old is None and new is None and name not in binary]
        if endless:
            more.append(f"  ({', '.join(endless)}: no numeric_range says how far)")
        if binary:
            prices = ", ".join(f"{name!r}: 1" for name in binary)
            more.append(
                f"  (0 and 1 only: categorical_weights={{{prices}}}, or a shift model with a certainty, lets them flip)"
            )
        return "\n".join([heading, *(f"  {line}" for line in lines), *more])

    __repr__ = __str__


def describe_worst_case(
    problem: RobustLogisticProblem,
    coefficients: RobustCoefficients,
    distribution: WorstCaseDistribution,
    *,
    schema: Schema,
    classes: AnyArray,
    nominal_loss: float,
    library: str | None,
    positions: RowArray | None = None,
) -> WorstCase:
    """Put a worst-case distribution into the words of the table it is about; ``positions`` says where its rows stand in it."""
    atoms = Atoms.of(problem, coefficients, distribution)
    harmless = float(distribution.expected_loss) - nominal_loss <= _ROUNDING * nominal_loss
    numeric = None if harmless else numeric_move(problem, coefficients, distribution, atoms)
    if numeric is not None:
        atoms = atoms.split(numeric.atom, numeric.mass)
    moves = _name_moves(problem, atoms, numeric, schema, classes)
    moves = moves.none if harmless else moves
    columns: dict[str, Any] = {
        "row": moves.row if positions is None else positions[moves.row],
        "mass": moves.mass,
        "feature": moves.feature,
        "from": moves.origin,
        "to": moves.target,
    }
    return WorstCase(
        table=build_frame(columns, library),
        expected_loss=float(distribution.expected_loss),
        nominal_loss=nominal_loss,
        price=float(distribution.price),
        radius=problem.radius,
        numeric_budget=0.0 if harmless else float(distribution.numeric_budget),
        shift=moves.shift,
        _moves=moves,
        _library=library,
        _binary=frozenset() if numeric is None else _binary_columns(problem, numeric, schema),
    )


def _binary_columns(problem: RobustLogisticProblem, numeric: NumericMove, schema: Schema) -> frozenset[Level]:
    """Of the columns that move without end, those whose rows hold 0 and 1 and nothing else."""
    columns = np.unique(numeric.columns)
    names = [schema.numeric_columns[at].name for at in columns.tolist()]
    values = problem.numeric[:, columns]
    if is_sparse(values):  # which never becomes dense; what is not written down is 0
        others = np.bincount(values.indices[values.data != 1], minlength=columns.size)
    else:
        others = np.count_nonzero((values != 0) & (values != 1), axis=0)
    binary = others == 0
    return frozenset(name for name, flips in zip(names, binary.tolist(), strict=True) if flips)


class _UnorderedMoves(NamedTuple):
    """Moves of one sort, before they are put in order; ``position`` is that of the column, ``price`` is per unit of mass."""

    atom: RowArray
    position: RowArray
    origin: NDArray[np.object_]
    target: NDArray[np.object_]
    price: FloatArray
    kind: RowArray


def _category_moves(problem: RobustLogisticProblem, atoms: Atoms, schema: Schema) -> _UnorderedMoves:
    names = _objects([label for column in schema.categorical_columns for label in column.level_labels])
    atom, feature = np.nonzero((atoms.codes != atoms.final_codes) & (atoms.mass > 0)[:, None])
    start = problem.level_offsets[feature].astype(np.int64)
    origin, target = start + atoms.codes[atom, feature], start + atoms.final_codes[atom, feature]
    position = np.array(schema.categorical_positions, dtype=np.int64)[feature]
    price = problem.cost.categorical_weights[feature]
    return _UnorderedMoves(atom, position, names[origin], names[target], price, origin * names.size + target)


def _label_moves(problem: RobustLogisticProblem, atoms: Atoms, schema: Schema, classes: AnyArray) -> _UnorderedMoves:
    names = _objects(classes.tolist())
    atom = np.flatnonzero((atoms.label != atoms.final_label) & (atoms.mass > 0))
    origin = (atoms.label[atom] > 0).astype(np.int64)
    position = np.full(atom.size, len(schema.columns))
    price = np.full(atom.size, problem.cost.label_weight)
    return _UnorderedMoves(atom, position, names[origin], names[1 - origin], price, np.array(_FLIP_MOVES)[origin])


def _range_moves(problem: RobustLogisticProblem, atoms: Atoms, schema: Schema) -> _UnorderedMoves:
    own, now = (as_dense(numbers)[:, problem.cost.ranged] for numbers in (problem.numeric[atoms.row], atoms.numeric(problem)))
    atom, place = np.nonzero((own != now) & (atoms.mass > 0)[:, None])
    columns = np.flatnonzero(problem.cost.ranged)[place]
    origin, target = own[atom, place], now[atom, place]
    # Behind the numbers of the columns without a range come those of the low ends, then those of the high ends.
    kind = _FIRST_NUMERIC_MOVE - columns - problem.n_numeric * atoms.ends[atom, place]
    return _UnorderedMoves(
        atom=atom,
        position=np.array(schema.numeric_positions, dtype=np.int64)[columns],
        origin=_objects(origin.tolist()),
        target=_objects(target.tolist()),
        price=problem.cost.numeric_weights[columns] * np.abs(target - origin),
        kind=kind,
    )


def _plain_number(value: float) -> float | int:
    """A whole number without its point."""
    return int(value) if value.is_integer() and abs(value) < 1e15 else value


def _numeric_moves(problem: RobustLogisticProblem, atoms: Atoms, schema: Schema, numeric: NumericMove) -> _UnorderedMoves:
    start = as_dense(problem.numeric[atoms.row[-1:]])[0, numeric.columns]
    return _UnorderedMoves(
        atom=np.full(numeric.columns.size, atoms.row.size - 1),
        position=np.array(schema.numeric_positions, dtype=np.int64)[numeric.columns],
        origin=_objects(start.tolist()),
        target=_objects((start + numeric.distances).tolist()),
        price=numeric.prices,
        kind=_FIRST_NUMERIC_MOVE - numeric.columns,
    )


def _name_moves(
    problem: RobustLogisticProblem, atoms: Atoms, numeric: NumericMove | None, schema: Schema, classes: AnyArray
) -> Moves:
    parts = [_category_moves(problem, atoms, schema), _label_moves(problem, atoms, schema, classes)]
    if problem.cost.ranged.any():
        parts.append(_range_moves(problem, atoms, schema))
    if numeric is not None:
        parts.append(_numeric_moves(problem, atoms, schema, numeric))
    joined = _UnorderedMoves(*(np.concatenate(piece) for piece in zip(*parts, strict=True)))
    order = np.lexsort((joined.position, joined.atom, atoms.row[joined.atom]))
    atom = joined.atom[order]
    mass = atoms.mass[atom]
    return Moves(
        row=atoms.row[atom],
        mass=mass,
        feature=_objects([*schema.names, LABEL_FEATURE])[joined.position[order]].tolist(),
        origin=joined.origin[order].tolist(),
        target=joined.target[order].tolist(),
        budget=mass * joined.price[order],
        kind=joined.kind[order],
        shift=np.unique(atom, return_inverse=True)[1].astype(np.int64),
        ranged=joined.kind[order] <= _FIRST_NUMERIC_MOVE - problem.n_numeric,
    )


def _objects(values: list[Any]) -> NDArray[np.object_]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
