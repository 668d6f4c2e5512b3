// Proof logging: traverses the tree of supports once more, on one thread and with the incumbent known, and writes down why
// every node and every box of points was pruned. See score_proof.hpp for what the numbers say.
//
// At a node: the mark of every candidate (node_pruning.hpp), and the point whose tangent plane justifies the marks. At a
// support that this plane does not rule out: its box of whole points, branched until every part has a point whose tangent plane
// is above the threshold, or is a single card at unit scale, where the plane touches at the card itself. The traversal ends when no node is left, when the proof has more numbers than
// allowed, or when the search is stopped; only the first makes a proof.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "surefoot/riskscore/fit/support_loss.hpp"
#include "surefoot/riskscore/problem/card_scales.hpp"
#include "surefoot/riskscore/problem/score_problem.hpp"
#include "surefoot/riskscore/search/curvature_pruning.hpp"
#include "surefoot/riskscore/search/node_pruning.hpp"
#include "surefoot/riskscore/search/proof_levels.hpp"
#include "surefoot/riskscore/search/search_worker.hpp"
#include "surefoot/riskscore/search/support_tree.hpp"

namespace surefoot {

struct ProofParameters {
  // Loss: a box is branched rather than fitted further once loss and bound are this close. Not tuned.
  double box_tolerance = 1e-7;
  // Points this close to a whole number count as whole when a coordinate to branch on is chosen. Not tuned.
  double integrality_tolerance = 1e-6;
};

template <class Tree>
class ProofWriter {
 public:
  // Of the search that `state` has been through on the same tree. `slack` bounds the rounding in boxes of points. Gives up when
  // the proof grows beyond `max_numbers`.
  ProofWriter(const Tree& tree, const SearchState& state, const CodedTable& table, double slack, std::size_t max_numbers,
              const ProofParameters& parameters = {})
      : tree_(tree),
        state_(state),
        problem_(state.problem),
        order_(state.order.columns),
        table_(table),
        slack_(slack),
        value_(state.incumbent.value()),
        parameters_(parameters),
        loss_(make_loss(state.problem)),
        shifted_(state.problem.shift.active()),
        curvature_(static_cast<int>(state.order.columns.size())),
        out_(state.problem.max_size, max_numbers) {
    frames_.resize(static_cast<std::size_t>(problem_.max_size) + 1);
    for (auto& frame : frames_) frame.list.gradient.resize(order_.size());
  }

  ScoreProof write(const double* root_point) {
    RowPartition(table_.n_rows()).write_cells(table_, nullptr, 0, cells_);
    double start[max_coordinates] = {root_point[0]};
    write_cards(nullptr, 0, start);
    if (problem_.max_size > 0 && !order_.empty()) {
      tree_.open_root(root_point, frames_[0].node);
      for (std::size_t e = 0; e < order_.size(); ++e) frames_[0].list.columns.push_back(static_cast<int>(e));
      write_node(0);
    }
    ScoreProof proof = out_.join();
    proof.threshold = value_ - state_.gap * std::fabs(value_);
    proof.intercept_lower = state_.intercept_low;
    proof.intercept_upper = state_.intercept_high;
    proof.columns.assign(order_.begin(), order_.end());
    proof.twins.assign(state_.order.twin.begin(), state_.order.twin.end());
    proof.complete = !given_up();
    return proof;
  }

 private:
  struct Frame {
    typename Tree::Node node;
    CandidateList list;
    std::vector<ChildFit> fits;
  };

  bool given_up() const { return state_.signals.stop || out_.full(); }
  double threshold(int n) const { return value_ - state_.gap * std::fabs(value_) - problem_.penalty * n; }

  void write_node(int depth) {
    Frame& frame = frames_[static_cast<std::size_t>(depth)];
    CandidateList& list = frame.list;
    const int budget = problem_.max_size - depth;
    std::int32_t* marks = out_.add_marks(depth, list.columns.size());
    tree_.gradients(frame.node, list.columns, list.gradient.data());
    prune_node(tree_, frame.node, state_.limits, state_.order, threshold(depth + 1), budget, curvature_, list, marks);
    out_.add_node(depth, frame.node.point);
    if (shifted_) out_.add_node_mixture(depth, frame.node.mixture());
    if (list.children.empty()) return;
    const bool branches = budget > 1, fitted = branches || Tree::has_bound_point;
    if (fitted) tree_.fit_children_of(frame.node, list.children, threshold(depth + 1), branches, frame.fits);
    for (std::size_t k = 0; k < list.children.size() && !given_up(); ++k) {
      const int e = list.children[k];
      int columns[max_card_size];
      for (int j = 0; j < depth; ++j) columns[j] = order_[static_cast<std::size_t>(frame.node.columns[j])];
      columns[depth] = order_[static_cast<std::size_t>(e)];
      Frame& next = frames_[static_cast<std::size_t>(depth) + (branches ? 1 : 0)];
      bool opened = false;
      if (branches) {
        const auto after = std::upper_bound(list.columns.begin(), list.columns.end(), e);
        next.list.columns.assign(after, list.columns.end());
        opened = !next.list.columns.empty();
        if (opened) tree_.open(frame.node, e, frame.fits[k].point, next.list.columns, next.node);
      }
      if (opened && next.node.base > threshold(depth + 1) && problem_.rules.admits(columns, depth + 1)) {
        out_.add_box(depth + 1, 0, BoxCode::by_node);
      } else if (Tree::has_bound_point && frame.fits[k].bound > threshold(depth + 1)) {
        out_.add_bound(depth + 1, 0, frame.fits[k].bound_point);
      } else {
        double start[max_coordinates];
        std::copy_n(frame.node.point, depth + 1, start);
        start[depth + 1] = 0;
        if (fitted) std::copy_n(frame.fits[k].point, depth + 2, start);
        tree_.write_cells(frame.node, e, cells_);
        write_cards(columns, depth + 1, start);
      }
      if (!opened) continue;
      write_node(depth + 1);
    }
  }

  // Cards of a support whose cells have been written; `start` in coefficients.
  void write_cards(const int* columns, int n, const double* start) {
    if (!problem_.rules.admits(columns, n)) return out_.add_box(n, 0, BoxCode::not_admitted);
    PointBox box;
    box.lower[0] = state_.intercept_low;
    box.upper[0] = state_.intercept_high;
    for (int j = 0; j < n; ++j) {
      box.lower[j + 1] = problem_.lowest(columns[j]);
      box.upper[j + 1] = problem_.highest(columns[j]);
    }
    loss_->open(columns, cells_);
    BoxFit fit{};
    std::copy_n(start, n + 1, fit.point);
    write_box(columns, box, n, 0, fit);
  }

  void write_bound(int n, std::size_t round, const BoxFit& fit) {
    double point[max_coordinates];
    for (int j = 0; j <= n; ++j) point[j] = fit.point[j] * fit.scale;
    out_.add_bound(n, round, point);
    if (shifted_) out_.add_bound_mixture(n, round, {fit.lambda, fit.smoothing});
  }

  // At unit scale a plane touches the loss at the card itself. Otherwise the best of its scales, and under shift the prices on
  // both sides of the best one, are a choice that is made here. Scales at which the card breaks a rule are left out; where that
  // leaves none any point will do.
  void write_card(const int* columns, const PointBox& box, int n, std::size_t round, BoxFit& fit) {
    if (!problem_.scale.free() && !shifted_) return out_.add_box(n, round, BoxCode::single_card);
    if (problem_.scale.free() && !problem_.rules.empty()) {
      const PointRange range = problem_.range(columns, n, state_.intercept_low, state_.intercept_high);
      const ScaleRange admitted = scales_.admitted(range, cells_, box.lower, problem_.scale);
      loss_->narrow(admitted.empty() ? problem_.scale : admitted);
    }
    loss_->fit(box, 0, std::numeric_limits<double>::infinity(), 0, fit);
    loss_->narrow(problem_.scale);
    if (!shifted_) return write_bound(n, round, fit);
    out_.add_box(n, round, BoxCode::levelled);
    for (const auto& side : fit.sides) {
      double point[max_coordinates];
      for (int j = 0; j <= n; ++j) point[j] = box.lower[j] * side.scale;
      out_.add_side(n, round, point, {side.lambda, 0});
    }
  }

  void write_box(const int* columns, PointBox& box, int n, std::size_t round, const BoxFit& start) {
    if (given_up()) return;
    bool single = true;
    for (int j = 0; j <= n; ++j) {
      if (j > 0 && box.lower[j] == 0 && box.upper[j] == 0) return out_.add_box(n, round, BoxCode::empty);
      single = single && box.lower[j] == box.upper[j];
    }
    BoxFit fit = start;
    if (single) return write_card(columns, box, n, round, fit);
    loss_->fit(box, slack_, threshold(n), parameters_.box_tolerance, fit);
    // The fit ends where the bound exceeds the threshold, so this is the point that proves it.
    if (fit.bound > threshold(n)) return write_bound(n, round, fit);
    int c;
    double value;
    choose_branching(box, n, fit, c, value);
    out_.add_branching(n, round, c, static_cast<int>(value));
    const double lower = box.lower[c], upper = box.upper[c];
    box.upper[c] = value;
    write_box(columns, box, n, round + 1, fit);
    box.upper[c] = upper;
    box.lower[c] = value + 1;
    write_box(columns, box, n, round + 1, fit);
    box.lower[c] = lower;
  }

  // At unit scale the coordinate furthest from a whole number; where all are whole, the one with the widest interval. At a free
  // scale points mean little until some are fixed, so the open column with the largest points is narrowed down to a single
  // value first.
  void choose_branching(const PointBox& box, int n, const BoxFit& fit, int& c, double& value) const {
    c = -1;
    double worst = parameters_.integrality_tolerance;
    for (int j = 0; j <= n; ++j) {
      if (box.lower[j] == box.upper[j]) continue;
      double off = std::fabs(fit.point[j] - std::round(fit.point[j]));
      if (problem_.scale.free()) off = j > 0 ? 1 + std::fabs(fit.point[j]) : 0.5;
      if (off > worst) {
        worst = off;
        c = j;
      }
    }
    if (c >= 0 && !problem_.scale.free()) {
      value = std::floor(fit.point[c]);
    } else {
      if (c < 0)
        for (int j = 0; j <= n; ++j)
          if (c < 0 || box.upper[j] - box.lower[j] > box.upper[c] - box.lower[c]) c = j;
      const double whole = std::round(fit.point[c]);
      value = whole > box.lower[c] ? whole - 1 : whole;
    }
    value = std::clamp(value, box.lower[c], box.upper[c] - 1);
  }

  const Tree& tree_;
  const SearchState& state_;
  const ScoreProblem& problem_;
  const std::vector<int>& order_;
  const CodedTable& table_;
  const double slack_, value_;
  const ProofParameters parameters_;
  const std::unique_ptr<SupportLoss> loss_;
  const bool shifted_;
  CurvaturePruning curvature_;
  ProofLevels out_;
  std::vector<Frame> frames_;
  ScoreCells cells_;
  CardScales scales_;
};

}  // namespace surefoot
