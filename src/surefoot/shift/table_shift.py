"""How one table shifts: which columns move, how far, and one random move after the other.

    x'_ij = x_ij + s_j d_ij,           d_ij independent draws of the law of column j, s_j its scale
    z'_il = z_il                       with probability rho_l, else one of the other levels, all equally likely

In a column with a range a number goes no farther than to the end of it, and stays where it is if it is outside and would go
away from the range. A gap in a numeric column stays one; in a categorical column a gap is a level like others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray, IntArray
from surefoot.design.write.rewritable_table import RewritableTable
from surefoot.shift.noise import Noise
from surefoot.shift.shifting_columns import CategoricalShift, NumericShift


@dataclass(frozen=True)
class Perturbation:
    """Draws of one or more sets, column by column of :attr:`TableShift.numeric` and :attr:`TableShift.categorical`.

    Attributes
    ----------
    noise : ndarray of shape (n_numeric, n_sets, n_rows)
        What is added to the numeric columns that move.
    codes : ndarray of shape (n_categorical, n_sets, n_rows)
        New levels of the categorical columns that move.
    """

    noise: FloatArray
    codes: IntArray


@dataclass(frozen=True, eq=False)
class TableShift:
    """A table together with what may happen to it.

    Attributes
    ----------
    table : RewritableTable
    numeric : tuple of NumericShift
        Only columns that move, in table order.
    categorical : tuple of CategoricalShift
        Only columns that move, in table order.
    """

    table: RewritableTable
    numeric: tuple[NumericShift, ...]
    categorical: tuple[CategoricalShift, ...]

    @property
    def n_rows(self) -> int:
        return self.table.table.n_rows

    @cached_property
    def base(self) -> FloatArray:
        """The numbers before any shift."""
        block = np.empty((len(self.numeric), self.n_rows))
        for at, column in enumerate(self.numeric):
            block[at] = self.table.numbers(column.position)
        return block

    @cached_property
    def _scales(self) -> FloatArray:
        return np.array([column.scale for column in self.numeric])

    @cached_property
    def _codes(self) -> IntArray:
        """The levels before any shift."""
        block = np.empty((len(self.categorical), self.n_rows), dtype=np.int32)
        for at, column in enumerate(self.categorical):
            block[at] = column.levels.codes
        return block

    @cached_property
    def _change(self) -> FloatArray:
        return np.array([1.0 - column.certainty for column in self.categorical])

    @cached_property
    def _n_levels(self) -> IntArray:
        return np.array([column.n_levels for column in self.categorical], dtype=np.int32)

    @cached_property
    def _gaps(self) -> BoolArray | None:
        gaps: BoolArray = np.isnan(self.base)
        return gaps if gaps.any() else None

    @cached_property
    def _reach(self) -> tuple[FloatArray, FloatArray] | None:
        """How far every number may go down and up, if any column has a range."""
        ends = np.array([column.ends for column in self.numeric]).reshape(-1, 2)
        if not np.isfinite(ends).any():
            return None
        with np.errstate(invalid="ignore"):
            return np.minimum(ends[:, :1] - self.base, 0.0), np.maximum(ends[:, 1:] - self.base, 0.0)

    @cached_property
    def _runs(self) -> list[tuple[Noise, int, int]]:
        """Neighbouring columns of one law, which are drawn at once."""
        runs: list[tuple[Noise, int, int]] = []
        for at, column in enumerate(self.numeric):
            if runs and runs[-1][0] == column.noise:
                runs[-1] = (column.noise, runs[-1][1], at + 1)
            else:
                runs.append((column.noise, at, at + 1))
        return runs

    def draw(self, seeds: Sequence[np.random.SeedSequence]) -> Perturbation:
        """One set per seed; a set depends on its own seed alone."""
        sets = len(seeds)
        noise = np.empty((len(self.numeric), sets, self.n_rows))
        chance = np.empty((sets, len(self.categorical), self.n_rows))
        for at, seed in enumerate(seeds):
            generator = np.random.Generator(np.random.SFC64(seed))
            for law, start, stop in self._runs:
                block = np.empty((stop - start, self.n_rows))
                law.fill(block, generator)
                noise[start:stop, at] = block
            generator.random(out=chance[at])
        noise *= self._scales[:, None, None]
        if self._reach is not None:
            least, most = self._reach
            np.clip(noise, least[:, None], most[:, None], out=noise)
        if self._gaps is not None:
            noise.transpose(0, 2, 1)[self._gaps] = 0.0
        # One number tells both whether a value changes and to which of the others: below 1 - rho it is uniform there.
        places = np.nonzero(chance < self._change[:, None])
        drawn, (at_sets, changed, rows) = chance[places], places
        codes: IntArray = np.repeat(self._codes[:, None], sets, axis=1)
        levels, others = self._n_levels[changed], self._n_levels[changed] - 1
        steps = np.minimum((drawn * (others / self._change[changed])).astype(np.int32), others - 1) + 1
        codes[changed, at_sets, rows] = (self._codes[changed, rows] + steps) % levels
        return Perturbation(noise, codes)

    def write(self, drawn: Perturbation, which: int = 0) -> Any:
        """One perturbed table, of the type of the one that came in."""
        moved = self.base + drawn.noise[:, which]
        if self._reach is not None:  # a sum may round to beyond the end
            ends = np.array([column.ends for column in self.numeric])
            moved = np.clip(moved, np.minimum(ends[:, :1], self.base), np.maximum(ends[:, 1:], self.base))
        return self.table.write(
            {column.position: moved[at] for at, column in enumerate(self.numeric)},
            {column.position: drawn.codes[at, which] for at, column in enumerate(self.categorical)},
            {column.position: column.levels for column in self.categorical},
        )


def set_seeds(random_state: Any, stream: int, n_sets: int) -> Sequence[np.random.SeedSequence]:
    """One seed per perturbed set; set k of a stream has the same one however many sets or threads there are."""
    entropy = seed_entropy(random_state)
    return [np.random.SeedSequence(entropy, spawn_key=(stream, at)) for at in range(n_sets)]


def seed_entropy(random_state: Any) -> int:
    """A whole number from None, a seed, or a generator (which is advanced)."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(1 << 62))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(1 << 31))
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool) and random_state >= 0:
        return int(random_state)
    raise ValueError(f"random_state = {random_state!r} must be None, a whole number at or above 0, or a NumPy generator.")
