"""The longest-path formulation: Theorem 2 of Sun, Justin, Gomez and Vayanos (AISTATS 2025), problem (14).

    min  radius * lambda + sum_i w_i r_i    subject to   the potentials below,   || (beta_j / gamma_j)_j ||_* <= lambda.

Row i is guarded against all category vectors at once by a digraph. Its vertex (k, d) says that the first k features have
moved by the weighted distance d, its arcs choose a level of the next feature, and its potentials mu bound the loss argument
from above:

    mu_(0, 0)   >=  -s (beta_0 + beta_x . x_i + levels that never move),          s the final label
    mu_(k, d')  >=  mu_(k-1, d) - s beta_(k, c)        for every level c, d' = d if c is the own level, else d + delta_k
    softplus(mu_(m, d))  <=  r_i + lambda d            for every distance d that all features together attain.

The last line is the arc into the sink, -log(-1 + exp(r_i + lambda d)), with the sink's own potential eliminated. A finite
label price kappa adds a second digraph per row, with the other label and kappa added to every distance.

Which distances occur depends on the weights only, so all digraphs are copies of one and the matrices come from array
arithmetic. One iteration solves the whole programme by an interior point
(:func:`~surefoot.robust.conic.monolithic.solve_once`); the multipliers of the arcs are flows from source to sink, and
:class:`PathFlows` decomposes them into paths, that is, into shifts, of which the dual bound is made. The duality gap ends the
solve; while it is open, other settings are tried.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse

from surefoot.core.arrays import BoolArray, FloatArray, IndexArray, RowArray
from surefoot.core.solve_options import SolveOptions
from surefoot.design.encode.duplicates import collapse_rows
from surefoot.robust.conic.conic_run import ConicRun
from surefoot.robust.conic.distance_program import DistanceProgramme
from surefoot.robust.conic.monolithic import require_time, score_seconds, solve_once, solve_pieces, too_wide
from surefoot.robust.conic.parameters import ConicParameters
from surefoot.robust.conic.pieces import Coordinates, Pieces
from surefoot.robust.conic.proven_plan import Multipliers
from surefoot.robust.conic.softplus_programme import ConeSolution, SoftplusProgramme
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem
from surefoot.robust.registry import RobustOutcome, ranges_refused, require_acceptance


class Digraphs:
    """One digraph per row and final label, and the programme over all of them."""

    def __init__(self, coordinates: Coordinates) -> None:
        problem = coordinates.problem
        self.coordinates = coordinates
        self.layers = DistanceProgramme(problem)
        everyone = np.arange(problem.n_rows)
        unflipped = np.zeros(problem.n_rows, dtype=np.bool_)
        flips = bool(np.isfinite(problem.cost.label_weight))
        self.row = np.concatenate((everyone, everyone)) if flips else everyone
        self.flipped = np.concatenate((unflipped, ~unflipped)) if flips else unflipped
        self.sign = np.where(self.flipped, -1.0, 1.0) * problem.labels[self.row]
        self.layer_start = np.concatenate(([0], np.cumsum([layer.size for layer in self.layers.distances])))
        self.size = coordinates.size + self.row.size * self.layers.n_states

    @property
    def n_arcs(self) -> int:
        """Arcs of all digraphs, without those into sinks."""
        levels = self.coordinates.problem.n_levels[self.layers.features]
        inner = self.layers.distances[:-1]
        return self.row.size * sum(distances.size * int(count) for distances, count in zip(inner, levels, strict=True))

    def vertices(self, layer: int) -> IndexArray:
        """Unknowns of a layer's potentials: one line per digraph, one column per distance."""
        count = self.layers.distances[layer].size
        offset = self.coordinates.size + int(self.layer_start[layer])
        places: IndexArray = offset + self.layers.n_states * np.arange(self.row.size)[:, None] + np.arange(count)
        return places

    def programme(self) -> SoftplusProgramme:
        """Problem (14)."""
        coordinates, problem = self.coordinates, self.coordinates.problem
        limits = [_widened(coordinates.price_limits(), self.size), self._sources()]
        limits += [self._arcs(k) for k in range(self.layers.features.size)]
        matrix = scipy.sparse.csr_array(scipy.sparse.vstack(limits, format="csr"))
        last = self.vertices(self.layers.features.size)
        count = last.size
        entry = np.arange(count)
        arguments = scipy.sparse.csr_array((np.ones(count), (entry, last.ravel())), shape=(count, self.size))
        flip = np.where(self.flipped, problem.cost.label_weight, 0.0)
        spent = (self.layers.distances[-1] + flip[:, None]).ravel() / coordinates.unit
        row = np.repeat(self.row, last.shape[1])
        value = np.concatenate((np.ones(count), spent))
        column = np.concatenate((coordinates.loss + row, np.full(count, coordinates.price)))
        allowances = scipy.sparse.csr_array((value, (np.tile(entry, 2), column)), shape=(count, self.size))
        cost = np.concatenate((coordinates.objective, np.zeros(self.size - coordinates.size)))
        cone = _widened(coordinates.price_cone(), self.size)
        return SoftplusProgramme(cost, matrix, np.zeros(matrix.shape[0]), arguments, allowances, cone)

    def _sources(self) -> scipy.sparse.csr_array:
        """What no shift changes is at most the source's potential."""
        problem = self.coordinates.problem
        frozen = np.setdiff1d(np.arange(problem.n_categorical), self.layers.features)
        fixed = self.coordinates.score_rows(self.row, problem.codes[self.row], frozen, -self.sign)
        count = self.row.size
        source = scipy.sparse.csr_array(
            (-np.ones(count), (np.arange(count), self.vertices(0).ravel())), shape=(count, self.size)
        )
        return scipy.sparse.csr_array(_widened(fixed.tocsr(), self.size) + source)

    def _arcs(self, k: int) -> scipy.sparse.csr_array:
        """Layer k to layer k + 1: arcs in the order digraph, distance, level."""
        problem, l = self.coordinates.problem, self.layers.features[k]
        levels = np.arange(problem.n_levels[l])
        tail = self.vertices(k)
        ahead = self.vertices(k + 1)
        own = problem.codes[self.row, l][:, None] == levels
        head = np.where(own[:, None, :], ahead[:, self.layers.stay[k]][:, :, None], ahead[:, self.layers.move[k]][:, :, None])
        arc = np.arange(head.size).reshape(head.shape)
        slot = self.coordinates.level[problem.level_offsets[l] + levels]
        chosen = np.flatnonzero(slot >= 0)
        row = np.concatenate((arc.ravel(), arc.ravel(), arc[:, :, chosen].ravel()))
        column = np.concatenate((np.repeat(tail.ravel(), levels.size), head.ravel(), np.tile(slot[chosen], tail.size)))
        value = np.concatenate((np.ones(head.size), -np.ones(head.size), np.repeat(-self.sign, tail.shape[1] * chosen.size)))
        return scipy.sparse.csr_array((value, (row, column)), shape=(head.size, self.size))


def _widened(matrix: scipy.sparse.csr_array, width: int) -> scipy.sparse.csr_array:
    """The same rows with more columns."""
    return scipy.sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], width))


@dataclass
class PathFlows:
    """The arcs' multipliers, and their decomposition into paths.

    ``stay[k]`` and ``move[k]`` are the flows of feature k's arcs, one line per digraph, one column per distance before it;
    the levels a feature moves to are summed up, because a plan mixes them over all rows anyway. ``sink`` is the flow into
    the sink and ``mass`` the mass behind it, one column per final distance.
    """

    digraphs: Digraphs
    stay: list[FloatArray]
    move: list[FloatArray]
    sink: FloatArray
    mass: FloatArray
    to_lowest: FloatArray
    to_highest: FloatArray

    @classmethod
    def of(cls, digraphs: Digraphs, solution: ConeSolution) -> PathFlows:
        problem = digraphs.coordinates.problem
        graphs, layers = digraphs.row.size, digraphs.layers
        place = digraphs.coordinates.price_limits().shape[0] + graphs
        stay, move = [], []
        targets = [np.zeros(problem.level_offsets[-1]) for _ in range(2)]
        for k, l in enumerate(layers.features):
            shape = (graphs, layers.distances[k].size, int(problem.n_levels[l]))
            count = shape[0] * shape[1] * shape[2]
            flow = solution.multipliers[place : place + count].reshape(shape)
            place += count
            own = problem.codes[digraphs.row, l]
            stayed = np.take_along_axis(flow, own[:, None, None].astype(np.intp), axis=2)[:, :, 0]
            moved = flow.sum(axis=1)
            moved[np.arange(graphs), own] = 0.0
            for label, target in zip((1.0, -1.0), targets, strict=True):
                target[problem.level_offsets[l] : problem.level_offsets[l + 1]] = moved[digraphs.sign == label].sum(axis=0)
            stay.append(stayed)
            move.append(flow.sum(axis=2) - stayed)
        sink, mass = solution.flow.reshape(graphs, -1), solution.mass.reshape(graphs, -1)
        return cls(digraphs, stay, move, sink, mass, targets[0], targets[1])

    def multipliers(self) -> Multipliers:
        """Flow decomposition: every digraph's flow as paths; a path into distance d takes its part of the mass at d.

        One path per digraph at a time, the widest arc by arc from the sink backwards, until only noise is left.
        The flows are used up on the way.
        """
        digraphs, problem = self.digraphs, self.digraphs.coordinates.problem
        layers = digraphs.layers
        noise = ConicParameters.flow_noise * problem.weights[digraphs.row]
        into = self.sink.copy()
        found: list[tuple[IndexArray, IndexArray, BoolArray, FloatArray]] = []
        busy = np.arange(digraphs.row.size)
        # Each path exhausts an arc, so there are never more paths than arcs; noise may end a path early but costs a vertex.
        for _ in range(2 * layers.n_states + into.shape[1]):
            at = np.argmax(into[busy], axis=1)
            open_ = into[busy, at] > noise[busy]
            busy, at = busy[open_], at[open_]
            if busy.size == 0:
                break
            moved, width = self._take_path(busy, at, into[busy, at])
            into[busy, at] = np.where(width > noise[busy], into[busy, at] - width, 0.0)
            found.append((busy, at, moved, width))
        graph, at, width = (np.concatenate([part[i] for part in found] or [np.zeros(0, dtype=np.intp)]) for i in (0, 1, 3))
        moved = np.concatenate([part[2] for part in found] or [np.zeros((0, problem.n_categorical), dtype=np.bool_)])
        total = np.zeros_like(self.sink)
        np.add.at(total, (graph, at), width)
        fraction = width / np.where(total > 0, total, 1.0)[graph, at]
        mass, flow = self.mass[graph, at] * fraction, self.sink[graph, at] * fraction
        return Multipliers(digraphs.row[graph], moved, digraphs.flipped[graph], mass, flow, self.to_lowest, self.to_highest)

    def _take_path(self, graph: RowArray, end: IndexArray, width: FloatArray) -> tuple[BoolArray, FloatArray]:
        """Trace back from the given final distances along the wider arc each time, and subtract the capacity of that path."""
        layers = self.digraphs.layers
        moved = np.zeros((graph.size, self.digraphs.coordinates.problem.n_categorical), dtype=np.bool_)
        path = []
        at = end
        for k in range(layers.features.size - 1, -1, -1):
            before = np.full((2, layers.distances[k + 1].size), -1)
            before[0, layers.stay[k]] = before[1, layers.move[k]] = np.arange(layers.distances[k].size)
            stayed = np.where(before[0, at] >= 0, self.stay[k][graph, before[0, at]], -1.0)
            gone = np.where(before[1, at] >= 0, self.move[k][graph, before[1, at]], -1.0)
            here = gone > stayed
            moved[:, layers.features[k]] = here
            width = np.minimum(width, np.maximum(stayed, gone))
            at = before[here.astype(np.intp), at]
            path.append((k, here, at))
        for k, here, at in path:
            for flow, which in ((self.stay[k], ~here), (self.move[k], here)):
                flow[graph[which], at[which]] -= width[which]
        return moved, np.maximum(width, 0.0)


class Graph:
    """The paper's graph formulation on Clarabel."""

    name = "graph"

    def __init__(self, *, parameters: ConicParameters | None = None) -> None:
        self.parameters = parameters or ConicParameters()

    def refuses(self, problem: RobustLogisticProblem) -> str | None:
        """Why the problem cannot be taken, or None."""
        if (reason := ranges_refused(problem) or too_wide(problem, self.parameters)) is not None or problem.radius == 0:
            return reason
        distinct = collapse_rows(problem.numeric, problem.codes, problem.labels, problem.weights).representatives.size
        graphs = max(distinct, 1) * (2 if np.isfinite(problem.cost.label_weight) else 1)
        most = self.parameters.max_arcs
        advice = "Real-valued weights rarely add up to equal sums; round them so that they do."
        try:
            layers = DistanceProgramme(problem, most_states=most // graphs + 1)
        except OverflowError:
            return f"its {graphs} digraphs have more than {most} arcs together. {advice}"
        levels = problem.n_levels[layers.features]
        arcs = graphs * (
            sum(d.size * int(n) for d, n in zip(layers.distances[:-1], levels, strict=True)) + layers.distances[-1].size
        )
        if arcs > most:
            return f"its {graphs} digraphs have {arcs} arcs together, more than {most}. {advice}"
        return None

    def solve(
        self, problem: RobustLogisticProblem, options: SolveOptions, warm_start: RobustCoefficients | None = None
    ) -> RobustOutcome:
        """Solve problem (14); a warm start is only a first incumbent, an interior point cannot start from it."""
        require_acceptance(self, problem)
        run = ConicRun(problem, options, warm_start, self.parameters)
        if problem.radius == 0:
            return solve_pieces(run, Pieces.unmoved(run.problem))
        digraphs = Digraphs(run.coordinates)
        seconds = (digraphs.n_arcs / self.parameters.arcs_in_a_second) ** self.parameters.arc_power
        seconds += score_seconds(run.problem, digraphs.row.size, self.parameters)
        require_time(self.name, seconds, options, self.parameters)
        return solve_once(run, digraphs.programme(), lambda found: PathFlows.of(digraphs, found).multipliers())
