#include "surefoot/card_heuristic.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <set>

#include "surefoot/box_fit.hpp"
#include "surefoot/point_search.hpp"
#include "surefoot/ray_rounding.hpp"

namespace surefoot {
namespace {

constexpr std::size_t beam_width = 4;
// Supports kept after the first of two columns has come back, while pairs are exchanged.
constexpr std::size_t pair_beam = 6;
constexpr int max_passes = 20;
// At a free scale points are rounded along a ray, and searched only where that is a matter of moments.
constexpr std::size_t max_searched_cells = 64;
constexpr int max_searched_intercepts = 1000;

struct Support {
  std::vector<int> columns;
  BoxFit fit;
};

class Heuristic final : public CardListener {
 public:
  Heuristic(const ScoreProblem& problem, const CodedTable& table, const std::vector<int>& columns, double slack,
            IncumbentCard& incumbent, const std::function<bool()>& stopped)
      : problem_(problem),
        table_(table),
        usable_(columns),
        slack_(slack),
        incumbent_(incumbent),
        stop_(stopped),
        loss_(make_loss(problem)),
        rounding_(problem, slack),
        rounds_(problem.scale.free() && problem.rules.empty()) {}

  // Supports grow, the last ones get points, and columns are exchanged one at a time.
  void run() {
    std::vector<Support> beam(1);
    beam[0].fit = {};
    RowPartition all(table_.n_rows());
    write(all, {});
    fit(beam[0]);
    search_points_of(beam[0]);
    while (!stop_() && static_cast<int>(beam[0].columns.size()) < problem_.max_size) {
      std::vector<Support> longer = extend(beam);
      if (longer.empty()) break;
      beam = std::move(longer);
      if (static_cast<int>(beam[0].columns.size()) < problem_.max_size) try_points(beam[0]);
    }
    for (const Support& support : beam) try_points(support);
    exchange_singles();
  }

  // Columns are exchanged two at a time, and one at a time again, while that helps.
  void exchange_all() {
    while (!stop_() && exchange_pairs()) exchange_singles();
  }

  double threshold() const override { return incumbent_.value() - problem_.penalty * static_cast<double>(current_->size()); }
  void offer(const int* points, double) override {
    incumbent_.offer(current_->data(), static_cast<int>(current_->size()), points);
  }
  bool stopped() const override { return stop_(); }

 private:
  void write(const RowPartition& rows, const std::vector<int>& columns) {
    rows.write_cells(table_, columns.data(), static_cast<int>(columns.size()), cells_);
  }

  PointBox box_of(const std::vector<int>& columns) const {
    const PointRange range =
        problem_.range(columns.data(), static_cast<int>(columns.size()), problem_.intercept_lower, problem_.intercept_upper);
    PointBox box;
    for (std::size_t j = 0; j <= columns.size(); ++j) {
      box.lower[j] = range.lower[j];
      box.upper[j] = range.upper[j];
    }
    return box;
  }

  void fit(Support& support) {
    loss_->open(support.columns.data(), cells_);
    loss_->fit(box_of(support.columns), slack_, std::numeric_limits<double>::infinity(), loss_->tolerance(), support.fit);
  }

  RowPartition partition(const std::vector<int>& columns) const {
    RowPartition rows(table_.n_rows()), finer;
    for (const int column : columns) {
      finer.split(table_.code[static_cast<std::size_t>(column)], table_.n_codes[static_cast<std::size_t>(column)], rows);
      std::swap(rows, finer);
    }
    return rows;
  }

  // The support's fit on the rows of `rows` cut by one column more.
  Support extended(const Support& support, const RowPartition& rows, int column) {
    Support longer = support;
    longer.columns.push_back(column);
    longer.fit.point[longer.columns.size()] = 0;
    finer_.split(table_.code[static_cast<std::size_t>(column)], table_.n_codes[static_cast<std::size_t>(column)], rows);
    write(finer_, longer.columns);
    fit(longer);
    return longer;
  }

  std::vector<Support> extend(const std::vector<Support>& beam) {
    std::vector<Support> all;
    std::set<std::vector<int>> seen;
    for (const Support& support : beam) {
      const RowPartition rows = partition(support.columns);
      for (const int column : usable_) {
        if (stop_()) return all;
        if (std::find(support.columns.begin(), support.columns.end(), column) != support.columns.end()) continue;
        std::vector<int> key = support.columns;
        key.push_back(column);
        std::sort(key.begin(), key.end());
        const int room = problem_.max_size - static_cast<int>(key.size());
        if (!seen.insert(key).second) continue;
        if (problem_.rules.excludes(key.data(), static_cast<int>(key.size()), usable_.data(), static_cast<int>(usable_.size()),
                                    room))
          continue;
        all.push_back(extended(support, rows, column));
      }
    }
    std::stable_sort(all.begin(), all.end(), [](const Support& a, const Support& b) { return a.fit.loss < b.fit.loss; });
    if (all.size() > beam_width) all.resize(beam_width);
    return all;
  }

  void try_points(const Support& support) {
    write(partition(support.columns), support.columns);
    search_points_of(support);
  }

  // The best points of a support whose cells have been written.
  void search_points_of(const Support& support) {
    const int n = static_cast<int>(support.columns.size());
    if (!problem_.rules.admits(support.columns.data(), n)) return;
    current_ = &support.columns;
    if (rounds_) {
      rounding_.round(cells_, support.columns, support.fit, threshold(), [this](const int* points) { offer(points, 0); });
      if (cells_.n_cells > max_searched_cells || problem_.intercept_upper - problem_.intercept_lower > max_searched_intercepts)
        return;
    }
    const PointRange range = problem_.range(support.columns.data(), n, problem_.intercept_lower, problem_.intercept_upper);
    loss_->open(support.columns.data(), cells_);
    search_points(*loss_, cells_, range, slack_, support.fit.point, *this);
  }

  // The best card so far as a support; without columns if there is none.
  Support best_support() const {
    const ScoreCard card = incumbent_.best();
    Support whole;
    whole.fit.point[0] = card.intercept;
    whole.fit.lambda = 1 / card.multiplier;
    for (std::size_t j = 0; j < card.points.size(); ++j)
      if (card.points[j] != 0) {
        whole.columns.push_back(static_cast<int>(j));
        whole.fit.point[whole.columns.size()] = card.points[j];
      }
    return whole;
  }

  static Support without(const Support& whole, std::size_t out) {
    Support rest = whole;
    rest.columns.erase(rest.columns.begin() + static_cast<std::ptrdiff_t>(out));
    for (std::size_t j = out + 1; j <= rest.columns.size(); ++j) rest.fit.point[j] = whole.fit.point[j + 1];
    return rest;
  }

  static bool holds(const Support& support, int column) {
    return std::find(support.columns.begin(), support.columns.end(), column) != support.columns.end();
  }

  // Searches the points of a support that has just been fitted, if its fit allows a card as good as the best.
  void try_fitted(const Support& support) {
    if (support.fit.bound <= incumbent_.value() - problem_.penalty * static_cast<double>(support.columns.size()))
      search_points_of(support);
  }

  // The best card without so many of its columns, in every way that leaves room for as many new ones as `added`.
  std::vector<Support> shortened(const Support& whole, int added) const {
    std::vector<Support> rests;
    const int room = problem_.max_size - static_cast<int>(whole.columns.size());
    if (room >= added) rests.push_back(whole);
    for (std::size_t first = 0; first < whole.columns.size(); ++first) {
      if (room + 1 >= added) rests.push_back(without(whole, first));
      if (added > 1)
        for (std::size_t second = 0; second < first; ++second) rests.push_back(without(without(whole, first), second));
    }
    return rests;
  }

  // One round of giving up to two columns of the best card for two others; whether the card got better.
  bool exchange_pairs() {
    const double before = incumbent_.value();
    const Support whole = best_support();
    for (const Support& rest : shortened(whole, 2)) {
      const RowPartition rows = partition(rest.columns);
      std::vector<Support> singles;
      for (const int column : usable_) {
        if (stop_()) return false;
        if (!holds(whole, column)) singles.push_back(extended(rest, rows, column));
      }
      std::stable_sort(singles.begin(), singles.end(),
                       [](const Support& a, const Support& b) { return a.fit.loss < b.fit.loss; });
      if (singles.size() > pair_beam) singles.resize(pair_beam);
      for (std::size_t k = 0; k < singles.size(); ++k) {
        const RowPartition finer = partition(singles[k].columns);
        for (const int column : usable_) {
          if (stop_()) return false;
          const bool paired = std::any_of(singles.begin(), singles.begin() + static_cast<std::ptrdiff_t>(k),
                                          [&](const Support& earlier) { return earlier.columns.back() == column; });
          if (!paired && !holds(whole, column) && !holds(singles[k], column)) try_fitted(extended(singles[k], finer, column));
        }
      }
      if (incumbent_.value() < before) return true;
    }
    return false;
  }

  void exchange_singles() {
    for (int pass = 0; pass < max_passes && !stop_() && exchange(); ++pass) {
    }
  }

  // One round of giving each column of the best card, or none, for another; whether the card got better.
  bool exchange() {
    const double before = incumbent_.value();
    const Support whole = best_support();
    for (const Support& rest : shortened(whole, 1)) {
      const RowPartition rows = partition(rest.columns);
      for (const int column : usable_) {
        if (stop_()) return false;
        if (!holds(whole, column)) try_fitted(extended(rest, rows, column));
      }
    }
    return incumbent_.value() < before;
  }

  const ScoreProblem& problem_;
  const CodedTable& table_;
  const std::vector<int>& usable_;
  double slack_;
  IncumbentCard& incumbent_;
  const std::function<bool()>& stop_;
  std::unique_ptr<SupportLoss> loss_;
  RayRounding rounding_;
  bool rounds_;
  ScoreCells cells_;
  RowPartition finer_;
  const std::vector<int>* current_ = nullptr;
};

}  // namespace

void seek_card(const ScoreProblem& problem, const CodedTable& table, const std::vector<int>& columns, double slack,
               IncumbentCard& incumbent, const std::function<bool()>& stopped, bool thorough) {
  Heuristic heuristic(problem, table, columns, slack, incumbent, stopped);
  heuristic.run();
  if (thorough) heuristic.exchange_all();
}

}  // namespace surefoot
