// Writes a ScoreProof by walking a tree of supports; see score_proof.hpp for what it says.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "surefoot/box_fit.hpp"
#include "surefoot/score_problem.hpp"
#include "surefoot/score_proof.hpp"
#include "surefoot/support_tree.hpp"
#include "surefoot/support_walker.hpp"

namespace surefoot {

template <class Tree>
class ProofWriter {
 public:
  // `order` and `limits` as those of the tree. Gives up when the proof grows beyond `most_steps` numbers.
  ProofWriter(const Tree& tree, const ScoreProblem& problem, const CodedTable& table, const std::vector<int>& order,
              const ColumnLimits& limits, double threshold, std::size_t most_steps, const std::atomic<bool>& stop)
      : tree_(tree), problem_(problem), table_(table), order_(order), limits_(limits), most_steps_(most_steps), stop_(stop) {
    proof_.threshold = threshold;
    levels_.resize(static_cast<std::size_t>(problem.max_size) + 1);
    for (auto& level : levels_) level.gradient.resize(order.size());
  }

  ScoreProof write(const double* root_point) {
    proof_.columns.assign(order_.begin(), order_.end());
    RowPartition(table_.n_rows()).write_cells(table_, nullptr, 0, cells_);
    double start[max_coordinates] = {root_point[0]};
    write_cards(nullptr, 0, start);
    tree_.open_root(root_point, levels_[0].node);
    for (std::size_t e = 0; e < order_.size(); ++e) levels_[0].candidates.push_back(static_cast<int>(e));
    if (problem_.max_size > 0 && !order_.empty()) write_node(0);
    proof_.complete = !given_up();
    return std::move(proof_);
  }

 private:
  struct Level {
    typename Tree::Node node;
    std::vector<int> candidates, kept, children;
    std::vector<double> gradient;
    std::vector<ChildFit> fits;
  };

  bool given_up() const { return stop_ || proof_.steps.size() + proof_.points.size() > most_steps_; }
  double threshold(int n) const { return proof_.threshold - problem_.penalty * n; }
  void add(int step) { proof_.steps.push_back(step); }
  void add_point(const double* point, int n) { proof_.points.insert(proof_.points.end(), point, point + n); }

  void write_node(int depth) {
    Level& level = levels_[static_cast<std::size_t>(depth)];
    const int room = problem_.max_size - depth;
    screen(level, room);
    for (const auto* list : {&level.kept, &level.children}) {
      add(static_cast<int>(list->size()));
      for (const int e : *list) add(order_[static_cast<std::size_t>(e)]);
    }
    add_point(level.node.point, depth + 1);
    if (room > 1 && !level.children.empty())
      tree_.fit_children_of(level.node, level.children, threshold(depth + 1), true, level.fits);
    for (std::size_t k = 0; k < level.children.size() && !given_up(); ++k) {
      const int e = level.children[k];
      double start[max_coordinates];
      if (room > 1)
        std::copy_n(level.fits[k].point, depth + 2, start);
      else {
        std::copy_n(level.node.point, depth + 1, start);
        start[depth + 1] = 0;
      }
      int columns[max_card_size];
      for (int j = 0; j < depth; ++j) columns[j] = order_[static_cast<std::size_t>(level.node.columns[j])];
      columns[depth] = order_[static_cast<std::size_t>(e)];
      tree_.write_cells(level.node, e, cells_);
      write_cards(columns, depth + 1, start);
      Level& next = levels_[static_cast<std::size_t>(depth) + 1];
      const auto after = std::upper_bound(level.kept.begin(), level.kept.end(), e);
      next.candidates.assign(after, level.kept.end());
      if (room == 1 || next.candidates.empty()) continue;
      tree_.open(level.node, e, level.fits[k].point, next.candidates, next.node);
      write_node(depth + 1);
    }
  }

  void screen(Level& level, int room) const {
    const double most = threshold(level.node.depth + 1);
    tree_.gradients(level.node, level.candidates, level.gradient.data());
    const auto gain = [&](int e) {
      const std::size_t at = static_cast<std::size_t>(e);
      return -std::min(level.gradient[at] * limits_.lower[at], level.gradient[at] * limits_.upper[at]);
    };
    Largest all(room), later(room - 1);
    for (const int e : level.candidates) all.add(std::max(gain(e), 0.0));
    level.kept.clear();
    level.children.clear();
    for (std::size_t k = level.candidates.size(); k-- > 0;) {
      const int e = level.candidates[k];
      const double optional = std::max(gain(e), 0.0);
      if (level.node.base - gain(e) - all.sum_without(optional, room - 1) > most) continue;
      if (!(level.node.base - gain(e) - later.sum(room - 1) > most)) level.children.push_back(e);
      later.add(optional);
      level.kept.push_back(e);
    }
    std::reverse(level.kept.begin(), level.kept.end());
    std::reverse(level.children.begin(), level.children.end());
  }

  // Cards of a support whose cells have been written.
  void write_cards(const int* columns, int n, const double* start) {
    if (!problem_.rules.admits(columns, n)) return add(4);
    PointBox box;
    box.lower[0] = problem_.intercept_lower;
    box.upper[0] = problem_.intercept_upper;
    for (int j = 0; j < n; ++j) {
      box.lower[j + 1] = problem_.lowest(columns[j]);
      box.upper[j + 1] = problem_.highest(columns[j]);
    }
    write_box(box, n + 1, start);
  }

  void write_box(PointBox& box, int n, const double* start) {
    if (given_up()) return;
    bool single = true;
    for (int j = 0; j < n; ++j) {
      if (j > 0 && box.lower[j] == 0 && box.upper[j] == 0) return add(3);
      single = single && box.lower[j] == box.upper[j];
    }
    if (single) return add(2);
    BoxFit fit;
    std::copy_n(start, n, fit.point);
    fit_box(cells_, box, limits_.slack, threshold(n - 1), 1e-7, fit);
    if (fit.bound > threshold(n - 1)) {
      add(0);
      return add_point(fit.point, n);
    }
    // The coordinate furthest from a whole number; where all are whole, the one with the most room left.
    int c = -1;
    double worst = 1e-6;
    for (int j = 0; j < n; ++j)
      if (const double off = std::fabs(fit.point[j] - std::round(fit.point[j])); off > worst) {
        worst = off;
        c = j;
      }
    double cut = c < 0 ? 0 : std::floor(fit.point[c]);
    if (c < 0) {
      for (int j = 0; j < n; ++j)
        if (c < 0 || box.upper[j] - box.lower[j] > box.upper[c] - box.lower[c]) c = j;
      const double whole = std::round(fit.point[c]);
      cut = whole > box.lower[c] ? whole - 1 : whole;
    }
    add(1);
    add(c);
    add(static_cast<int>(cut));
    const double lower = box.lower[c], upper = box.upper[c];
    box.upper[c] = cut;
    write_box(box, n, fit.point);
    box.upper[c] = upper;
    box.lower[c] = cut + 1;
    write_box(box, n, fit.point);
    box.lower[c] = lower;
  }

  const Tree& tree_;
  const ScoreProblem& problem_;
  const CodedTable& table_;
  const std::vector<int>& order_;
  const ColumnLimits& limits_;
  const std::size_t most_steps_;
  const std::atomic<bool>& stop_;
  ScoreProof proof_;
  std::vector<Level> levels_;
  ScoreCells cells_;
};

}  // namespace surefoot
