// Writes a ScoreProof by walking a tree of supports; see score_proof.hpp for what it says.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "surefoot/riskscore/fit/support_loss.hpp"
#include "surefoot/riskscore/problem/score_problem.hpp"
#include "surefoot/riskscore/search/proof_levels.hpp"
#include "surefoot/riskscore/search/support_tree.hpp"
#include "surefoot/riskscore/search/support_walker.hpp"

namespace surefoot {

template <class Tree>
class ProofWriter {
 public:
  // Of the search that `shared` has been through on the same tree. `slack` pays for rounding in boxes of points. Gives up when the proof
  // grows beyond `most_numbers`.
  ProofWriter(const Tree& tree, const SharedSearch& shared, const CodedTable& table, double slack, std::size_t most_numbers)
      : tree_(tree),
        shared_(shared),
        problem_(shared.problem),
        order_(shared.order.columns),
        table_(table),
        slack_(slack),
        value_(shared.incumbent.value()),
        loss_(make_loss(shared.problem)),
        robust_(shared.problem.robust.active()),
        out_(shared.problem.max_size, most_numbers) {
    levels_.resize(static_cast<std::size_t>(problem_.max_size) + 1);
    for (auto& level : levels_) level.gradient.resize(order_.size());
  }

  ScoreProof write(const double* root_point) {
    RowPartition(table_.n_rows()).write_cells(table_, nullptr, 0, cells_);
    double start[max_coordinates] = {root_point[0]};
    write_cards(nullptr, 0, start);
    if (problem_.max_size > 0 && !order_.empty()) {
      tree_.open_root(root_point, levels_[0].node);
      for (std::size_t e = 0; e < order_.size(); ++e) levels_[0].candidates.push_back(static_cast<int>(e));
      write_node(0);
    }
    ScoreProof proof = out_.join();
    proof.threshold = value_ - shared_.gap * std::fabs(value_);
    proof.intercept_lower = shared_.intercept_low;
    proof.intercept_upper = shared_.intercept_high;
    proof.columns.assign(order_.begin(), order_.end());
    proof.twins.assign(shared_.order.twin.begin(), shared_.order.twin.end());
    proof.complete = !given_up();
    return proof;
  }

 private:
  struct Level {
    typename Tree::Node node;
    std::vector<int> candidates, kept, children;
    std::vector<double> gradient;
    std::vector<ChildFit> fits;
  };

  bool given_up() const { return shared_.signals.stop || out_.full(); }
  double threshold(int n) const { return value_ - shared_.gap * std::fabs(value_) - problem_.penalty * n; }

  void write_node(int depth) {
    Level& level = levels_[static_cast<std::size_t>(depth)];
    const int room = problem_.max_size - depth;
    screen(level, room);
    out_.add_node(depth, level.node.point);
    if (robust_) out_.add_node_shares(depth, level.node.shares());
    if (level.children.empty()) return;
    const bool settle = room > 1;
    if (settle || Tree::keeps_best) tree_.fit_children_of(level.node, level.children, threshold(depth + 1), settle, level.fits);
    for (std::size_t k = 0; k < level.children.size() && !given_up(); ++k) {
      const int e = level.children[k];
      int columns[max_card_size];
      for (int j = 0; j < depth; ++j) columns[j] = order_[static_cast<std::size_t>(level.node.columns[j])];
      columns[depth] = order_[static_cast<std::size_t>(e)];
      if (Tree::keeps_best && level.fits[k].bound > threshold(depth + 1)) {
        out_.add_bound(depth + 1, 0, level.fits[k].best);
      } else {
        double start[max_coordinates];
        std::copy_n(level.node.point, depth + 1, start);
        start[depth + 1] = 0;
        if (settle || Tree::keeps_best) std::copy_n(level.fits[k].point, depth + 2, start);
        tree_.write_cells(level.node, e, cells_);
        write_cards(columns, depth + 1, start);
      }
      if (!settle) continue;
      Level& next = levels_[static_cast<std::size_t>(depth) + 1];
      const auto after = std::upper_bound(level.kept.begin(), level.kept.end(), e);
      next.candidates.assign(after, level.kept.end());
      if (next.candidates.empty()) continue;
      tree_.open(level.node, e, level.fits[k].point, next.candidates, next.node);
      write_node(depth + 1);
    }
  }

  // As that of the search, and says what becomes of every candidate.
  void screen(Level& level, int room) {
    const PrefixFit& node = level.node;
    const double most = threshold(node.depth + 1);
    const ColumnLimits& limits = shared_.limits;
    tree_.gradients(level.node, level.candidates, level.gradient.data());
    const auto gain = [&](int e) {
      const std::size_t at = static_cast<std::size_t>(e);
      return -std::min(level.gradient[at] * limits.lower[at], level.gradient[at] * limits.upper[at]);
    };
    Largest all(room), later(room - 1);
    for (const int e : level.candidates) all.add(std::max(gain(e), 0.0));
    level.kept.clear();
    level.children.clear();
    std::int32_t* mark = out_.add_marks(node.depth, level.candidates.size());
    for (std::size_t k = level.candidates.size(); k-- > 0;) {
      const int e = level.candidates[k];
      const double optional = std::max(gain(e), 0.0);
      mark[k] = ProofLevels::left_out;
      if (node.base - gain(e) - all.sum_without(optional, room - 1) > most) continue;
      mark[k] = ProofLevels::not_first;
      if (!(node.base - gain(e) - later.sum(room - 1) > most)) {
        const int twin = shared_.order.twin[static_cast<std::size_t>(e)];
        const bool follows = twin < 0 || std::find(node.columns, node.columns + node.depth, twin) != node.columns + node.depth;
        mark[k] = follows ? ProofLevels::child : ProofLevels::twin;
        if (follows) level.children.push_back(e);
      }
      later.add(optional);
      level.kept.push_back(e);
    }
    std::reverse(level.kept.begin(), level.kept.end());
    std::reverse(level.children.begin(), level.children.end());
  }

  // Cards of a support whose cells have been written; `start` in coefficients.
  void write_cards(const int* columns, int n, const double* start) {
    if (!problem_.rules.admits(columns, n)) return out_.add_box(n, 0, ProofLevels::not_admitted);
    PointBox box;
    box.lower[0] = shared_.intercept_low;
    box.upper[0] = shared_.intercept_high;
    for (int j = 0; j < n; ++j) {
      box.lower[j + 1] = problem_.lowest(columns[j]);
      box.upper[j + 1] = problem_.highest(columns[j]);
    }
    loss_->open(columns, cells_);
    BoxFit fit{};
    std::copy_n(start, n + 1, fit.point);
    write_box(box, n, 0, fit);
  }

  void write_box(PointBox& box, int n, std::size_t round, const BoxFit& start) {
    if (given_up()) return;
    bool single = true;
    for (int j = 0; j <= n; ++j) {
      if (j > 0 && box.lower[j] == 0 && box.upper[j] == 0) return out_.add_box(n, round, ProofLevels::no_card);
      single = single && box.lower[j] == box.upper[j];
    }
    if (single) return out_.add_box(n, round, ProofLevels::single_card);
    BoxFit fit = start;
    loss_->fit(box, slack_, threshold(n), 1e-7, fit);
    if (fit.bound > threshold(n)) {
      // The fit ends where the bound exceeds the threshold, so this is the point that proves it.
      double point[max_coordinates];
      const double scale = fit.scale;
      for (int j = 0; j <= n; ++j) point[j] = fit.point[j] * scale;
      out_.add_bound(n, round, point);
      if (robust_) out_.add_bound_shares(n, round, {fit.lambda, fit.smoothing});
      return;
    }
    int c;
    double cut;
    choose_cut(box, n, fit, c, cut);
    out_.add_cut(n, round, c, static_cast<int>(cut));
    const double lower = box.lower[c], upper = box.upper[c];
    box.upper[c] = cut;
    write_box(box, n, round + 1, fit);
    box.upper[c] = upper;
    box.lower[c] = cut + 1;
    write_box(box, n, round + 1, fit);
    box.lower[c] = lower;
  }

  // At unit scale the coordinate furthest from a whole number; where all are whole, the one with the most room left. At a free scale
  // points mean little until some are fixed, so the open column with the largest points is cut down to a single value first.
  void choose_cut(const PointBox& box, int n, const BoxFit& fit, int& c, double& cut) const {
    c = -1;
    double worst = 1e-6;
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
      cut = std::floor(fit.point[c]);
    } else {
      if (c < 0)
        for (int j = 0; j <= n; ++j)
          if (c < 0 || box.upper[j] - box.lower[j] > box.upper[c] - box.lower[c]) c = j;
      const double whole = std::round(fit.point[c]);
      cut = whole > box.lower[c] ? whole - 1 : whole;
    }
    cut = std::clamp(cut, box.lower[c], box.upper[c] - 1);
  }

  const Tree& tree_;
  const SharedSearch& shared_;
  const ScoreProblem& problem_;
  const std::vector<int>& order_;
  const CodedTable& table_;
  const double slack_, value_;
  const std::unique_ptr<SupportLoss> loss_;
  const bool robust_;
  ProofLevels out_;
  std::vector<Level> levels_;
  ScoreCells cells_;
};

}  // namespace surefoot
