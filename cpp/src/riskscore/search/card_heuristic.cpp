#include "surefoot/riskscore/search/card_heuristic.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <set>

#include "surefoot/riskscore/fit/box_fit.hpp"
#include "surefoot/riskscore/fit/point_search.hpp"
#include "surefoot/riskscore/fit/ray_rounding.hpp"
#include "surefoot/riskscore/table/cell_counts.hpp"

namespace surefoot {
namespace {

constexpr std::size_t everything = std::numeric_limits<std::size_t>::max();

struct Support {
  std::vector<int> columns;
  BoxFit fit;
};

class BeamHeuristic final : public CardListener {
 public:
  BeamHeuristic(const ScoreProblem& problem, const CodedTable& table, CellCounts& counts, const std::vector<int>& columns,
                double slack, IncumbentCard& incumbent, const std::function<bool()>& stopped, const BeamParameters& parameters)
      : problem_(problem),
        table_(table),
        usable_(columns),
        slack_(slack),
        incumbent_(incumbent),
        stop_(stopped),
        parameters_(parameters),
        loss_(make_loss(problem)),
        counts_(counts),
        rounding_(problem, slack, stopped),
        rounds_(problem.scale.free() && problem.rules.empty()),
        width_(problem.scale.free() ? parameters.free_width : parameters.width),
        most_(problem.max_size) {}

  // Supports grow; those of every size get points, and columns are exchanged one at a time within this size. So a search with a
  // larger limit has met every card that one with a smaller limit meets here, and its card is no worse.
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
      for (const Support& support : beam)
        if (!stop_()) try_points(support);
      most_ = static_cast<int>(beam[0].columns.size());
      exchange_singles(parameters_.max_exchanges);
    }
    // Where rules leave no longer support to grow to, exchanges may still add columns.
    most_ = problem_.max_size;
    exchange_singles(parameters_.max_exchanges);
  }

  // Columns are exchanged one at a time while that helps.
  void exchange_singles(std::size_t most) {
    for (int round = 0; round < parameters_.max_rounds && !stop_() && exchange(most); ++round) {
    }
  }

  // Columns are exchanged two at a time, and one at a time again, while that helps.
  void exchange_all() {
    do {
      while (!stop_() && exchange_pairs()) exchange_singles(parameters_.max_exchanges);
    } while (!stop_() && exchange(everything));
  }

  double threshold() const override { return incumbent_.value() - problem_.penalty * static_cast<double>(current_->size()); }
  void offer(const int* points, double, double) override {
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
      finer.split(table_.code[static_cast<std::size_t>(column)], rows);
      std::swap(rows, finer);
    }
    return rows;
  }

  // The rows, partitioned by the first n columns of a support.
  void open(const Support& support, std::size_t n = everything) {
    std::vector<int> columns = support.columns;
    if (columns.size() > n) columns.resize(n);
    // Another heuristic may have opened the shared counts for rows of its own, which are gone with it.
    if (columns == opened_ && !rows_.group.empty() && counts_.is_open(rows_)) return;
    rows_ = partition(columns);
    counts_.open(rows_, columns);
    opened_ = std::move(columns);
  }

  // A few steps towards the fit of the support with one column more; its rows have been opened.
  Support ranking_fit(const Support& support, int column) {
    Support longer = support;
    longer.columns.push_back(column);
    longer.fit.point[longer.columns.size()] = 0;
    longer.fit.max_steps = parameters_.ranking_steps;
    counts_.write(column, cells_);
    fit(longer);
    longer.fit.max_steps = BoxFit{}.max_steps;
    return longer;
  }

  // The same fit to the end; the rows are those of the support without its last column. Leaves the cells of the whole.
  void finish(Support& support) {
    counts_.write(support.columns.back(), cells_);
    // Fits under shift are not cut short, so they have converged.
    if (!problem_.shift.active()) fit(support);
  }

  // The `wanted` best supports by their fits so far, the best first.
  static void keep_best(std::vector<Support>& supports, std::size_t wanted) {
    std::stable_sort(supports.begin(), supports.end(),
                     [](const Support& a, const Support& b) { return a.fit.loss < b.fit.loss; });
    if (supports.size() > wanted) supports.resize(wanted);
  }

  std::vector<Support> extend(const std::vector<Support>& beam) {
    std::vector<Support> all;
    std::set<std::vector<int>> seen;
    for (const Support& support : beam) {
      open(support);
      for (const int column : usable_) {
        if (stop_()) return {};
        if (holds(support, column)) continue;
        std::vector<int> key = support.columns;
        key.push_back(column);
        std::sort(key.begin(), key.end());
        const int budget = problem_.max_size - static_cast<int>(key.size());
        if (!seen.insert(key).second) continue;
        if (problem_.rules.excludes(key.data(), static_cast<int>(key.size()), usable_.data(), static_cast<int>(usable_.size()),
                                    budget))
          continue;
        all.push_back(ranking_fit(support, column));
      }
    }
    keep_best(all, parameters_.fits_per_place * width_);
    for (Support& support : all) {
      if (stop_()) return {};
      open(support, support.columns.size() - 1);
      finish(support);
    }
    keep_best(all, width_);
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
      rounding_.round(cells_, support.columns, support.fit, threshold(), [this](const int* points) { offer(points, 0, 1); });
      if (cells_.n_cells > parameters_.max_searched_cells ||
          problem_.intercept_upper - problem_.intercept_lower > parameters_.max_searched_intercepts)
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
    whole.fit.scale = 1 / card.multiplier;
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

  // The incumbent without some of its columns, in every way that leaves a budget for `added` new ones.
  std::vector<Support> shortened(const Support& whole, int added) const {
    std::vector<Support> rests;
    const int budget = most_ - static_cast<int>(whole.columns.size());
    if (budget >= added) rests.push_back(whole);
    for (std::size_t first = 0; first < whole.columns.size(); ++first) {
      if (budget + 1 >= added) rests.push_back(without(whole, first));
      if (added > 1)
        for (std::size_t second = 0; second < first; ++second) rests.push_back(without(without(whole, first), second));
    }
    return rests;
  }

  // Ranking fits of a support with one column more, which is none of `whole`; false if stopped.
  bool rank_all(const Support& support, const Support& whole, std::vector<Support>& ranked) {
    open(support);
    ranked.clear();
    for (const int column : usable_) {
      if (stop_()) return false;
      if (!holds(whole, column) && !holds(support, column)) ranked.push_back(ranking_fit(support, column));
    }
    return true;
  }

  // Fits and rounds the best of some extensions of the opened support; false if stopped.
  bool try_best(std::vector<Support>& ranked, std::size_t most) {
    keep_best(ranked, most);
    for (Support& support : ranked) {
      if (stop_()) return false;
      finish(support);
      try_fitted(support);
    }
    return true;
  }

  // One round of giving up to two columns of the best card for two others; whether the card got better.
  bool exchange_pairs() {
    const double before = incumbent_.value();
    const Support whole = best_support();
    std::vector<Support> singles, pairs;
    for (const Support& rest : shortened(whole, 2)) {
      if (!rank_all(rest, whole, singles)) return false;
      keep_best(singles, parameters_.pair_width);
      for (Support& single : singles)
        if (!stop_()) finish(single);
      for (const Support& single : singles)
        if (!rank_all(single, whole, pairs) || !try_best(pairs, parameters_.max_exchanges)) return false;
      if (incumbent_.value() < before) return true;
    }
    return false;
  }

  // One round of giving each column of the best card, or none, for another; whether the card got better.
  bool exchange(std::size_t most) {
    const double before = incumbent_.value();
    const Support whole = best_support();
    std::vector<Support> ranked;
    for (const Support& rest : shortened(whole, 1))
      if (!rank_all(rest, whole, ranked) || !try_best(ranked, most)) return false;
    return incumbent_.value() < before;
  }

  const ScoreProblem& problem_;
  const CodedTable& table_;
  const std::vector<int>& usable_;
  double slack_;
  IncumbentCard& incumbent_;
  const std::function<bool()>& stop_;
  const BeamParameters& parameters_;
  std::unique_ptr<SupportLoss> loss_;
  CellCounts& counts_;
  RayRounding rounding_;
  bool rounds_;
  std::size_t width_;
  int most_;  // columns that exchanges may lead to
  ScoreCells cells_;
  RowPartition rows_;  // partitioned by `opened_`
  std::vector<int> opened_;
  const std::vector<int>* current_ = nullptr;
};

bool separates(const CodedTable& table, const ScoreCard& card, double separating_column) {
  for (std::size_t j = 0; j < card.points.size(); ++j) {
    if (card.points[j] == 0) continue;
    const auto [least, most] = std::minmax_element(table.value[j].begin(), table.value[j].end());
    if (std::fabs(card.points[j]) * (*most - *least) > separating_column * card.multiplier) return true;
  }
  return false;
}

}  // namespace

void run_beam_heuristic(const ScoreProblem& problem, const CodedTable& table, const std::vector<int>& columns, double slack,
                        IncumbentCard& incumbent, const std::function<bool()>& stopped, bool thorough,
                        const BeamParameters& parameters) {
  CellCounts counts(table);
  BeamHeuristic heuristic(problem, table, counts, columns, slack, incumbent, stopped, parameters);
  heuristic.run();
  if (problem.scale.free()) {
    ScoreProblem narrow = problem;
    bool better = false;
    for (int k = 0; k < parameters.max_narrowings && !stopped(); ++k) {
      if (!separates(table, incumbent.best(), parameters.separating_column)) break;
      narrow.scale.high /= parameters.narrowing_factor;
      if (!narrow.scale.free()) break;
      IncumbentCard other(narrow, table);
      BeamHeuristic(narrow, table, counts, columns, slack, other, stopped, parameters).run();
      const double before = incumbent.value();
      incumbent.offer(other.best());
      better = better || incumbent.value() < before;
    }
    if (better) heuristic.exchange_singles(parameters.max_exchanges);
  }
  if (thorough) heuristic.exchange_all();
}

}  // namespace surefoot
