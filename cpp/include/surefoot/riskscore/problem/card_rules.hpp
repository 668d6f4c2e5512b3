// What a score card must look like besides fitting well.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace surefoot {

// At least `least` and at most `most` of the member columns are in the support.
struct GroupRule {
  std::vector<std::uint8_t> member;
  int least, most;
};

// If any of `cause` is in the support, at least one of `effect` is.
struct ImplicationRule {
  std::vector<std::uint8_t> cause, effect;
};

// lower <= (intercept_coefficient * intercept + sum_j coefficient_j points_j) / multiplier <= upper.
struct LinearRule {
  double lower, upper, intercept_coefficient;
  std::vector<double> coefficient;
};

// The points of the member columns have one sign, whichever it is.
struct SignRule {
  std::vector<std::uint8_t> member;
};

// Rows with log odds, score / multiplier, of at least `threshold` are flagged. The flagged rows of one label weigh between
// `least` and `most`. Where the multiplier is free, rows that must not be flagged have log odds of at most `unflagged`, a
// little less, so that rounding cannot put a row on the wrong side.
struct RateRule {
  bool positive;  // the label
  double least, most, threshold, unflagged = threshold;

  // Scores around 0 are flagged, whatever the multiplier.
  bool at_even_odds() const { return unflagged <= 0 && threshold >= 0; }
};

// What the groups of columns in the support cost, each once, is at most `most`. `column[k]` belongs to `group[k]`.
struct BudgetRule {
  std::vector<int> column, group;
  std::vector<double> cost;  // by group, at or above 0
  double most;

  double of(const int* support, int size) const {
    double total = 0;
    std::vector<std::uint8_t> paid(cost.size(), 0);
    for (std::size_t k = 0; k < column.size(); ++k) {
      const auto g = static_cast<std::size_t>(group[k]);
      if (paid[g] || std::find(support, support + size, column[k]) == support + size) continue;
      paid[g] = 1;
      total += cost[g];
    }
    return total;
  }
};

// Rows with a score of at least `threshold` are flagged; at a free scale that is one of 0. The shares of flagged rows of any two
// groups differ by at most `most`. Rows of the table have a group, or -1, and a share of its weight. With `observed`, a share for
// every group, it is mean risks less these that differ by at most so much, and there is no threshold.
struct FairRule {
  std::vector<int> group;
  std::vector<double> share, observed;
  int n_groups;
  double most, threshold;
};

struct CardRules {
  std::vector<GroupRule> groups;
  std::vector<ImplicationRule> implications;
  std::vector<LinearRule> rows;
  std::vector<SignRule> signs;
  std::vector<RateRule> rates;
  std::vector<BudgetRule> budgets;
  std::vector<FairRule> fair;
  // By column the points it may have, in ascending order; an empty list stands for all whole numbers within its limits. No
  // lists at all: no column has such a rule.
  std::vector<std::vector<int>> values;

  bool empty() const {
    return groups.empty() && implications.empty() && rows.empty() && signs.empty() && rates.empty() && budgets.empty() &&
           fair.empty() && values.empty();
  }

  // Whether a card may have exactly these columns.
  bool admits(const int* support, int size) const {
    for (const GroupRule& rule : groups) {
      const int count = members(rule.member, support, size);
      if (count < rule.least || count > rule.most) return false;
    }
    for (const ImplicationRule& rule : implications)
      if (members(rule.cause, support, size) > 0 && members(rule.effect, support, size) == 0) return false;
    for (const BudgetRule& rule : budgets)
      if (rule.of(support, size) > rule.most) return false;
    return true;
  }

  // Whether no admissible support holds these columns and up to `budget` more of the n_later ones in `later`.
  bool excludes(const int* support, int size, const int* later, int n_later, int budget) const {
    for (const GroupRule& rule : groups) {
      const int count = members(rule.member, support, size);
      if (count > rule.most) return true;
      if (count < rule.least && (rule.least - count > budget || count + members(rule.member, later, n_later) < rule.least))
        return true;
    }
    for (const ImplicationRule& rule : implications)
      if (members(rule.cause, support, size) > 0 && members(rule.effect, support, size) == 0 &&
          (budget == 0 || members(rule.effect, later, n_later) == 0))
        return true;
    for (const BudgetRule& rule : budgets)
      if (rule.of(support, size) > rule.most) return true;
    return false;
  }

 private:
  static int members(const std::vector<std::uint8_t>& member, const int* columns, int n) {
    int count = 0;
    for (int k = 0; k < n; ++k) count += member[static_cast<std::size_t>(columns[k])];
    return count;
  }
};

}  // namespace surefoot
