// Proofs read claim by claim, by sums over the raw rows.
#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <vector>

#include "check.hpp"
#include "riskscore/drawn_cards.hpp"
#include "surefoot/core/softplus.hpp"
#include "surefoot/riskscore/search/proof_levels.hpp"
#include "surefoot/riskscore/search/support_search.hpp"

using namespace surefoot;

namespace {

constexpr int n_columns = 5;
constexpr double rounding = 1e-12;

struct Plane {
  double loss = 0, intercept_slope = 0;
  std::vector<double> slope = std::vector<double>(n_columns, 0);
};

// Loss and slopes along all columns, at points for the intercept and a few columns.
Plane plane_at(const ScoreProblem& problem, const std::vector<int>& columns, const double* point) {
  Plane plane;
  for (std::size_t i = 0; i < problem.table.n_rows; ++i) {
    double score = point[0];
    for (std::size_t k = 0; k < columns.size(); ++k) score += point[k + 1] * problem.table.column(columns[k])[i];
    const double weight = problem.table.weights[i], label = problem.table.labels[i];
    const double residual = weight * (1 / (1 + std::exp(-score)) - (label > 0 ? 1 : 0));
    plane.loss += weight * softplus(-label * score);
    plane.intercept_slope += residual;
    for (int j = 0; j < n_columns; ++j) plane.slope[static_cast<std::size_t>(j)] += residual * problem.table.column(j)[i];
  }
  return plane;
}

double least(double slope, double low, double high) { return std::min(slope * low, slope * high); }

class Reader {
 public:
  Reader(const ScoreProblem& problem, const ScoreProof& proof) : problem_(problem), proof_(proof) {}

  // The number of claims that do not hold; all numbers must have been used.
  int n_wrong() {
    std::vector<std::vector<int>> supports{{}};
    std::vector<Node> nodes(1);
    for (std::size_t e = 0; e < proof_.columns.size(); ++e) nodes[0].list.push_back(static_cast<int>(e));
    read_cards(supports);
    for (int depth = 0; depth < problem_.max_size && !nodes.empty(); ++depth) {
      supports.clear();
      nodes = read_nodes(depth, nodes, supports);
      by_node_.clear();
      read_cards(supports);
      for (Node& node : nodes) node.bounds_own = by_node_.erase(named(node.prefix)) > 0;
      claim(by_node_.empty());
    }
    return n_wrong_ + (step_ != proof_.steps.size()) + (number_ != proof_.points.size());
  }

 private:
  struct Node {
    std::vector<int> prefix, list;  // positions
    bool bounds_own = false;        // its plane bounds the cards of the prefix itself
  };
  struct Box {
    std::vector<int> columns;
    std::vector<double> low, high;
  };

  std::vector<int> named(const std::vector<int>& positions) const {
    std::vector<int> columns;
    for (const int e : positions) columns.push_back(proof_.columns[static_cast<std::size_t>(e)]);
    return columns;
  }
  double threshold(std::size_t n) const { return proof_.threshold - problem_.penalty * static_cast<double>(n) - rounding; }
  void claim(bool holds) { n_wrong_ += !holds; }
  const double* take(std::size_t n) { return proof_.points.data() + (number_ += n) - n; }

  // Largest sum of up to `count` of the gains.
  static double most_of(std::vector<double> gains, int count) {
    std::sort(gains.begin(), gains.end(), std::greater<>());
    double sum = 0;
    for (std::size_t k = 0; k < gains.size() && static_cast<int>(k) < count; ++k) sum += std::max(gains[k], 0.0);
    return sum;
  }

  std::vector<Node> read_nodes(int depth, const std::vector<Node>& nodes, std::vector<std::vector<int>>& supports) {
    std::vector<Node> next;
    std::size_t first = step_;
    for (const Node& node : nodes) step_ += node.list.size();
    for (const Node& node : nodes) {
      const std::int32_t* mark = proof_.steps.data() + first;
      first += node.list.size();
      check_marks(depth, node, mark);
      std::vector<int> kept;
      for (std::size_t k = 0; k < node.list.size(); ++k)
        if (mark[k] != code(CandidateMark::excluded)) kept.push_back(node.list[k]);
      for (std::size_t k = 0; k < node.list.size(); ++k) {
        if (mark[k] != code(CandidateMark::child)) continue;
        Node child{node.prefix, {}, false};
        child.prefix.push_back(node.list[k]);
        supports.push_back(child.prefix);
        child.list.assign(std::upper_bound(kept.begin(), kept.end(), node.list[k]), kept.end());
        if (depth + 1 < problem_.max_size && !child.list.empty()) next.push_back(std::move(child));
      }
    }
    return next;
  }

  void check_marks(int depth, const Node& node, const std::int32_t* mark) {
    const std::vector<int> columns = named(node.prefix), list = named(node.list);
    const double* point = take(columns.size() + 1);
    const Plane plane = plane_at(problem_, columns, point);
    double base = plane.loss - plane.intercept_slope * point[0] +
                  least(plane.intercept_slope, proof_.intercept_lower, proof_.intercept_upper);
    for (std::size_t k = 0; k < columns.size(); ++k) {
      const double slope = plane.slope[static_cast<std::size_t>(columns[k])];
      base += least(slope, -most_points, most_points) - slope * point[k + 1];
    }
    const auto gain = [&](std::size_t k) {
      return -least(plane.slope[static_cast<std::size_t>(list[k])], -most_points, most_points);
    };
    if (node.bounds_own) claim(base >= threshold(columns.size()));
    const int room = problem_.max_size - depth;
    for (std::size_t k = 0; k < list.size(); ++k) {
      std::vector<double> others, later;
      for (std::size_t m = 0; m < list.size(); ++m) {
        if (m != k) others.push_back(gain(m));
        if (m > k && mark[m] != code(CandidateMark::excluded)) later.push_back(gain(m));
      }
      const double limit = threshold(columns.size() + 1);
      const bool excluded = mark[k] == code(CandidateMark::excluded);
      if (excluded || mark[k] == code(CandidateMark::not_first))
        claim(base - gain(k) - most_of(excluded ? others : later, room - 1) >= limit ||
              (room <= 2 && !any_better(columns, list, mark, k)));
      if (mark[k] == code(CandidateMark::twin)) check_twin(node, node.list[k]);
    }
  }

  // Where slopes do not rule a candidate out, its curvature must, which bounds all cards of one or two columns more.
  bool any_better(const std::vector<int>& columns, const std::vector<int>& list, const std::int32_t* mark, std::size_t k) {
    std::vector<int> support = columns;
    support.push_back(list[k]);
    if (better_card(support)) return true;
    if (static_cast<int>(support.size()) == problem_.max_size) return false;
    support.push_back(0);
    for (std::size_t m = 0; m < list.size(); ++m) {
      if (m == k || (mark[k] != code(CandidateMark::excluded) && (m < k || mark[m] == code(CandidateMark::excluded)))) continue;
      support.back() = list[m];
      if (better_card(support)) return true;
    }
    return false;
  }

  bool better_card(const std::vector<int>& support) {
    std::vector<double> card(support.size() + 1);
    const double limit = threshold(support.size());
    const std::function<bool(std::size_t)> any = [&](std::size_t j) {
      if (j == card.size()) return plane_at(problem_, support, card.data()).loss < limit;
      const int low = j ? -most_points : proof_.intercept_lower, high = j ? most_points : proof_.intercept_upper;
      for (int value = low; value <= high; ++value) {
        card[j] = value;
        if (any(j + 1)) return true;
      }
      return false;
    };
    return any(0);
  }

  void check_twin(const Node& node, int e) {
    const int twin = proof_.twins[static_cast<std::size_t>(e)];
    claim(twin >= 0 && twin < e && std::count(node.prefix.begin(), node.prefix.end(), twin) == 0);
    if (twin < 0) return;
    const double *a = problem_.table.column(proof_.columns[static_cast<std::size_t>(e)]),
                 *b = problem_.table.column(proof_.columns[static_cast<std::size_t>(twin)]);
    bool equal = true, mirrored = true;
    for (std::size_t i = 0; i < problem_.table.n_rows; ++i) {
      equal = equal && a[i] == b[i];
      mirrored = mirrored && a[i] + b[i] == a[0] + b[0];
    }
    claim(equal || mirrored);
  }

  void read_cards(const std::vector<std::vector<int>>& supports) {
    std::vector<Box> boxes;
    for (const auto& support : supports) {
      Box box{named(support), {static_cast<double>(proof_.intercept_lower)}, {static_cast<double>(proof_.intercept_upper)}};
      box.low.resize(support.size() + 1, -most_points);
      box.high.resize(support.size() + 1, most_points);
      boxes.push_back(std::move(box));
    }
    while (!boxes.empty()) {
      const std::int32_t* box_code = proof_.steps.data() + step_;
      step_ += boxes.size();
      std::vector<Box> parts;
      for (std::size_t k = 0; k < boxes.size(); ++k) read_box(boxes[k], box_code[k], parts);
      boxes = std::move(parts);
    }
  }

  void read_box(const Box& box, std::int32_t box_code, std::vector<Box>& parts) {
    if (box_code == code(BoxCode::bounded)) {
      const double* point = take(box.low.size());
      const Plane plane = plane_at(problem_, box.columns, point);
      double bound = plane.loss;
      for (std::size_t j = 0; j < box.low.size(); ++j) {
        const double slope = j == 0 ? plane.intercept_slope : plane.slope[static_cast<std::size_t>(box.columns[j - 1])];
        bound += least(slope, box.low[j], box.high[j]) - slope * point[j];
      }
      claim(bound >= threshold(box.columns.size()));
    } else if (box_code == code(BoxCode::branched)) {
      const std::size_t c = static_cast<std::size_t>(proof_.steps[step_]);
      const double value = proof_.steps[step_ + 1];
      step_ += 2;
      claim(c < box.low.size() && value >= box.low[c] && value < box.high[c]);
      parts.insert(parts.end(), {box, box});
      parts[parts.size() - 2].high[c] = value;
      parts[parts.size() - 1].low[c] = value + 1;
    } else if (box_code == code(BoxCode::single_card)) {
      claim(box.low == box.high && plane_at(problem_, box.columns, box.low.data()).loss >= threshold(box.columns.size()));
    } else if (box_code == code(BoxCode::by_node)) {
      by_node_.insert(box.columns);
    } else {
      bool empty = false;
      for (std::size_t j = 1; j < box.low.size(); ++j) empty = empty || (box.low[j] == 0 && box.high[j] == 0);
      claim(box_code == code(BoxCode::empty) && empty);
    }
  }

  const ScoreProblem& problem_;
  const ScoreProof& proof_;
  std::set<std::vector<int>> by_node_;  // supports whose cards are left to the plane of their node
  std::size_t step_ = 0, number_ = 0;
  int n_wrong_ = 0;
};

// Cards with an intercept that the proof leaves out.
bool outside_is_worse(const ScoreProblem& problem, const ScoreProof& proof) {
  const std::vector<int> columns{0, 1, 2, 3, 4};
  for (int box_code = 0; box_code < 3125; ++box_code)
    for (int intercept = -most_intercept; intercept <= most_intercept; ++intercept) {
      if (intercept >= proof.intercept_lower && intercept <= proof.intercept_upper) continue;
      double card[n_columns + 1] = {static_cast<double>(intercept)};
      int size = 0;
      for (int j = 0, rest = box_code; j < n_columns; ++j, rest /= 5) size += (card[j + 1] = rest % 5 - most_points) != 0;
      if (size <= problem.max_size &&
          plane_at(problem, columns, card).loss + problem.penalty * size < proof.threshold - rounding)
        return false;
    }
  return true;
}

SearchResult proven(const ScoreProblem& problem, std::size_t limit) {
  SearchOptions options;
  options.proof_limit = limit;
  return search_supports(problem, options);
}

}  // namespace

TEST(every_claim_of_a_proof_holds_and_together_they_cover_all_cards) {
  for (unsigned seed = 0; seed < 24; ++seed) {
    const Drawn drawn = draw(seed, seed % 4 < 2, n_columns);
    const ScoreProblem problem = drawn.problem(static_cast<int>(seed % 5), seed % 3 ? 0.01 : 0);
    const SearchResult result = proven(problem, 1000000);
    CHECK(result.proof.complete);
    CHECK_EQUAL(result.proof.threshold, result.card.value);
    CHECK_EQUAL(Reader(problem, result.proof).n_wrong(), 0);
    CHECK(outside_is_worse(problem, result.proof));
  }
}

TEST(a_proof_says_nothing_about_a_higher_threshold) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    const Drawn drawn = draw(seed, seed % 4 < 2, n_columns);
    const ScoreProblem problem = drawn.problem(3, 0.01);
    SearchResult result = proven(problem, 1000000);
    result.proof.threshold += 1e-3;
    CHECK(Reader(problem, result.proof).n_wrong() > 0);
  }
}

TEST(a_proof_that_grows_beyond_its_limit_is_given_up) {
  const Drawn drawn = draw(2, false, n_columns);
  const ScoreProblem problem = drawn.problem(3, 0);
  const SearchResult whole = proven(problem, 1000000), cut = proven(problem, 20);
  CHECK(whole.proof.steps.size() + whole.proof.points.size() > 20);
  CHECK(!cut.proof.complete);
  CHECK_EQUAL(cut.card.value, whole.card.value);
  CHECK(!proven(problem, 0).proof.complete);
}
