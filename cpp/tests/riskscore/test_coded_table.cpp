// Merged rows against a map of rows.
#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <vector>

#include "check.hpp"
#include "surefoot/riskscore/table/coded_table.hpp"

using namespace surefoot;

namespace {

struct Drawn {
  std::vector<double> values, labels, weights;
  std::size_t n_rows;
  int n_columns;

  RawTable raw() const { return {values.data(), n_rows, n_columns, labels.data(), weights.data()}; }
};

// Columns by kind: constant, 0/1, small whole numbers with holes, negative ones, halves, huge ones that differ by 1, a zero
// with two signs, many values.
constexpr int n_kinds = 8;

double draw_value(int kind, std::mt19937& random, unsigned many) {
  switch (kind) {
    case 0:
      return 7;
    case 1:
      return random() % 2;
    case 2:
      return 3.0 * (random() % 4);
    case 3:
      return static_cast<double>(random() % 200) - 199;
    case 4:
      return 0.5 * (random() % 3);
    case 5:
      return 0x1p53 + 2.0 * (random() % 3);
    case 6:
      return random() % 2 ? 0.0 : -0.0;
    default:
      return static_cast<double>(random() % many) / 7;
  }
}

Drawn draw(unsigned seed, std::size_t n_rows, const std::vector<int>& kinds, unsigned many) {
  std::mt19937 random(seed);
  Drawn drawn{{}, {}, {}, n_rows, static_cast<int>(kinds.size())};
  for (const int kind : kinds)
    for (std::size_t i = 0; i < n_rows; ++i) drawn.values.push_back(draw_value(kind, random, many));
  for (std::size_t i = 0; i < n_rows; ++i) {
    drawn.labels.push_back(random() % 2 ? 1 : -1);
    // Sums of these are exact, in whatever order.
    drawn.weights.push_back(0x1p-20 * static_cast<double>(1 + random() % 5));
  }
  return drawn;
}

struct Group {
  std::size_t first;
  double total = 0, positive = 0;
};

void check_merged(const Drawn& drawn, const CodedTable& table) {
  std::map<std::vector<double>, Group> wanted;
  for (std::size_t i = 0; i < drawn.n_rows; ++i) {
    std::vector<double> row;
    for (int j = 0; j < drawn.n_columns; ++j) row.push_back(drawn.raw().column(j)[i]);
    Group& group = wanted.try_emplace(row, Group{i}).first->second;
    group.total += drawn.weights[i];
    if (drawn.labels[i] > 0) group.positive += drawn.weights[i];
  }
  CHECK_EQUAL(table.n_rows(), wanted.size());
  if (table.n_rows() != wanted.size()) return;
  std::vector<std::pair<std::size_t, const std::vector<double>*>> order;
  for (const auto& [row, group] : wanted) order.push_back({group.first, &row});
  std::sort(order.begin(), order.end());
  int n_wrong = 0;
  for (std::size_t g = 0; g < order.size(); ++g) {
    const Group& group = wanted[*order[g].second];
    n_wrong += table.total[g] != group.total || table.positive[g] != group.positive;
    for (std::size_t j = 0; j < order[g].second->size(); ++j) n_wrong += table.value[j][g] != (*order[g].second)[j];
  }
  CHECK_EQUAL(n_wrong, 0);
  for (std::size_t j = 0; j < table.value.size(); ++j) {
    std::vector<double> distinct = table.value[j];
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    CHECK_EQUAL(table.code[j].n_codes, distinct.size());
    CHECK_EQUAL(table.code[j].narrow.empty(), distinct.size() > ColumnCodes::most_narrow);
    CHECK(table.code[j].values == (table.code[j].narrow.empty() ? std::vector<double>() : distinct));
    int n_miscoded = 0;
    table.code[j].with([&](const auto* code) {
      for (std::size_t g = 0; g < table.n_rows(); ++g) n_miscoded += distinct[code[g]] != table.value[j][g];
    });
    CHECK_EQUAL(n_miscoded, 0);
  }
}

}  // namespace

TEST(merged_rows_are_the_distinct_ones_in_order_with_their_weights) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    std::vector<int> kinds(random() % 7);
    for (int& kind : kinds) kind = static_cast<int>(random() % n_kinds);
    const Drawn drawn = draw(seed, 1 + random() % 400, kinds, 1 + random() % 900);
    check_merged(drawn, merge_rows(drawn.raw()));
  }
}

TEST(many_rows_are_merged_alike_by_one_thread_and_by_three) {
  // Thirty columns fill more than one word; rows repeat within and across parts.
  std::vector<int> kinds(30, 2);
  kinds.resize(36, 1);
  Drawn drawn = draw(1, 60000, kinds, 1);
  for (int j = 0; j < drawn.n_columns; ++j)
    for (std::size_t i = 20000; i < drawn.n_rows; ++i) {
      double* column = drawn.values.data() + static_cast<std::size_t>(j) * drawn.n_rows;
      column[i] = column[(i * 7919) % 20000];
    }
  const CodedTable one = merge_rows(drawn.raw(), 1), three = merge_rows(drawn.raw(), 3);
  check_merged(drawn, one);
  CHECK_EQUAL(one.total == three.total && one.positive == three.positive && one.value == three.value, true);
}

TEST(rows_merged_by_some_columns_ignore_the_others) {
  const Drawn drawn = draw(3, 500, {1, 7, 2}, 400);
  const CodedTable by_two = merge_rows_by(drawn.raw(), {0, 2}), by_none = merge_rows_by(drawn.raw(), {});
  CHECK_EQUAL(by_two.n_rows(), 8u);
  CHECK_EQUAL(by_two.value[1].empty(), true);
  CHECK_EQUAL(by_none.n_rows(), 1u);
  double weight = 0;
  for (const double w : drawn.weights) weight += w;
  CHECK_EQUAL(by_none.total[0], weight);
}

TEST(merging_asks_again_and_again_whether_to_stop_and_then_does) {
  const Drawn drawn = draw(4, 200000, {1, 2, 3, 4, 7}, 100000);
  std::atomic<int> asked{0};
  merge_rows(drawn.raw(), 1, [&] { return ++asked < 0; });
  const int in_all = asked;
  CHECK_EQUAL(in_all > 60, true);
  for (int last = 1; last < in_all; last += 7) {
    asked = 0;
    merge_rows(drawn.raw(), 1, [&] { return ++asked > last; });
    // Once told, each loop ends at its next look.
    CHECK_EQUAL(asked <= last + 40, true);
  }
}
