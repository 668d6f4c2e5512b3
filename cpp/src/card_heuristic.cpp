#include "surefoot/card_heuristic.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <set>

#include "surefoot/box_fit.hpp"
#include "surefoot/point_search.hpp"

namespace surefoot {
namespace {

constexpr std::size_t beam_width = 4;
constexpr int max_passes = 20;

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
        loss_(make_loss(problem)) {}

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
    for (int pass = 0; pass < max_passes && !stop_() && exchange(); ++pass) {
    }
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
    const PointRange range = problem_.range(support.columns.data(), n, problem_.intercept_lower, problem_.intercept_upper);
    loss_->open(support.columns.data(), cells_);
    search_points(*loss_, cells_, range, slack_, support.fit.point, *this);
  }

  // One round of exchanging each column of the best card for another; whether the card got better.
  bool exchange() {
    const ScoreCard card = incumbent_.best();
    if (card.points.empty()) return false;
    Support whole;
    whole.fit.point[0] = card.intercept;
    for (std::size_t j = 0; j < card.points.size(); ++j)
      if (card.points[j] != 0) {
        whole.columns.push_back(static_cast<int>(j));
        whole.fit.point[whole.columns.size()] = card.points[j];
      }
    for (std::size_t out = 0; out < whole.columns.size(); ++out) {
      Support rest = whole;
      rest.columns.erase(rest.columns.begin() + static_cast<std::ptrdiff_t>(out));
      for (std::size_t j = out + 1; j <= rest.columns.size(); ++j) rest.fit.point[j] = whole.fit.point[j + 1];
      const RowPartition rows = partition(rest.columns);
      for (const int column : usable_) {
        if (stop_()) return false;
        if (std::find(whole.columns.begin(), whole.columns.end(), column) != whole.columns.end()) continue;
        const Support longer = extended(rest, rows, column);
        if (longer.fit.bound <= incumbent_.value() - problem_.penalty * static_cast<double>(longer.columns.size()))
          search_points_of(longer);
      }
    }
    return incumbent_.value() < card.value;
  }

  const ScoreProblem& problem_;
  const CodedTable& table_;
  const std::vector<int>& usable_;
  double slack_;
  IncumbentCard& incumbent_;
  const std::function<bool()>& stop_;
  std::unique_ptr<SupportLoss> loss_;
  ScoreCells cells_;
  RowPartition finer_;
  const std::vector<int>* current_ = nullptr;
};

}  // namespace

void seek_card(const ScoreProblem& problem, const CodedTable& table, const std::vector<int>& columns, double slack,
               IncumbentCard& incumbent, const std::function<bool()>& stopped) {
  Heuristic(problem, table, columns, slack, incumbent, stopped).run();
}

}  // namespace surefoot
