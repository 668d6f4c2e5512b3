#include "surefoot/riskscore/search/support_search.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <system_error>
#include <thread>

#include "surefoot/riskscore/search/card_heuristic.hpp"
#include "surefoot/riskscore/search/column_order.hpp"
#include "surefoot/riskscore/search/proof_writer.hpp"
#include "surefoot/riskscore/search/relaxed_bound.hpp"
#include "surefoot/riskscore/search/rounding_slack.hpp"
#include "surefoot/riskscore/search/search_monitor.hpp"
#include "surefoot/riskscore/search/search_worker.hpp"
#include "surefoot/riskscore/search/support_tree.hpp"
#include "surefoot/riskscore/shift/shift_tree.hpp"

namespace surefoot {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Node selection: workers take open nodes by best bound, so the dual bound rises as they go. Nodes that wait are ordered anew
// whenever the relaxation knows more about them.
class WorkerPool {
 public:
  WorkerPool(SearchState& state, std::vector<OpenNode>& nodes, const RelaxedBounds& relaxed)
      : state_(state), nodes_(nodes), relaxed_(relaxed), finished_(nodes.size()), queue_(nodes.size()) {
    std::iota(queue_.begin(), queue_.end(), std::size_t{0});
    for (const OpenNode& node : nodes_) n_supports_.push_back(count_supports(node));
    for (auto& flag : finished_) flag = false;
    if (!state_.near_cards) {
      const auto known = state_.signals.snapshot.now().finished;
      const std::set<std::array<int, 2>> done(known.begin(), known.end());
      for (std::size_t k = 0; k < nodes_.size(); ++k) finished_[k] = done.count(pair(k)) > 0;
    }
    report_bound();
  }

  template <class Tree>
  void run(const Tree& tree, const double* root_point, int n_threads) {
    const std::size_t n_workers =
        std::clamp<std::size_t>(static_cast<std::size_t>(std::max(n_threads, 1)), 1, nodes_.size() + 1);
    std::vector<std::thread> others;
    try {
      for (std::size_t k = 1; k < n_workers; ++k) others.emplace_back([&] { work(tree, root_point); });
    } catch (const std::system_error&) {
      // A machine that grants no further thread is served by those it granted.
    }
    work(tree, root_point);
    for (auto& other : others) other.join();
    if (failure_) std::rethrow_exception(failure_);
  }

  // The dual bound: of all subtrees that are not finished, and of the gap in those that are.
  double lower_bound() const { return frontier().bound; }

 private:
  // Where the search stands: a bound of all cards, and how many supports lie in subtrees finished and open.
  struct Frontier {
    double bound, finished = 0, open = 0;
  };

  Frontier frontier() const {
    const double value = state_.incumbent.value(), threshold = state_.threshold(0);
    Frontier now{std::isfinite(value) ? value - state_.gap * std::fabs(value) : infinity};
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      if (finished_[k]) {
        now.finished += n_supports_[k];
        continue;
      }
      const double bound = bound_of(k);
      now.bound = std::min(now.bound, bound);
      if (bound <= threshold) now.open += n_supports_[k];
    }
    now.bound = std::max(now.bound, 0.0);
    return now;
  }

  // Of three and more columns, as many as the candidates of a node allow for.
  double count_supports(const OpenNode& node) const {
    const int free = state_.problem.max_size - static_cast<int>(node.prefix.size());
    double total = 0, ways = 1;
    for (int m = 1; m <= free; ++m) {
      ways *= std::max(static_cast<double>(node.candidates.size()) - m + 1, 0.0) / m;
      total += ways;
    }
    return total;
  }

  template <class Tree>
  void work(const Tree& tree, const double* root_point) {
    try {
      auto worker = std::make_unique<SearchWorker<Tree>>(tree, state_);
      for (std::size_t k = select_node(); k < nodes_.size() && !state_.signals.stop; k = select_node()) {
        if (finished_[k]) continue;
        if (bound_of(k) <= state_.threshold(0)) worker->process_subtree(nodes_[k], root_point);
        if (state_.signals.stop) break;
        finished_[k] = true;
        if (!state_.near_cards) state_.signals.snapshot.finish(pair(k), state_.incumbent.best());
        report_bound();
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      state_.signals.stop = true;
    }
  }

  double bound_of(std::size_t k) const {
    return std::max(nodes_[k].bound, relaxed_.from(static_cast<std::size_t>(nodes_[k].prefix[0])));
  }

  // The waiting node with the smallest bound, or one behind the last.
  std::size_t select_node() {
    const std::lock_guard lock(mutex_);
    if (next_ == queue_.size()) return nodes_.size();
    if (const std::size_t known = relaxed_.n_known(); known != known_) {
      known_ = known;
      // Bounds are read once: they may rise while they are compared.
      std::vector<double> bound(nodes_.size());
      for (std::size_t k = 0; k < bound.size(); ++k) bound[k] = bound_of(k);
      std::stable_sort(queue_.begin() + static_cast<std::ptrdiff_t>(next_), queue_.end(),
                       [&](std::size_t a, std::size_t b) { return bound[a] < bound[b]; });
    }
    return queue_[next_++];
  }

  std::array<int, 2> pair(std::size_t k) const {
    const auto& prefix = nodes_[k].prefix;
    return {state_.order.columns[static_cast<std::size_t>(prefix[0])],
            state_.order.columns[static_cast<std::size_t>(prefix[1])]};
  }

  void report_bound() {
    if (state_.near_cards) return;
    const Frontier now = frontier();
    raise(state_.signals.lower_bound, now.bound);
    const double total = now.finished + now.open;
    state_.signals.fraction_done = total > 0 ? now.finished / total : 1;
  }

  SearchState& state_;
  std::vector<OpenNode>& nodes_;
  const RelaxedBounds& relaxed_;
  std::vector<std::atomic<bool>> finished_;
  std::vector<double> n_supports_;  // by node
  std::vector<std::size_t> queue_;  // nodes, those before `next_` taken
  std::size_t next_ = 0, known_ = 0;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

// Cards without columns, whose support is no node of the tree.
class EmptySupportListener final : public CardListener {
 public:
  EmptySupportListener(const ScoreProblem& problem, IncumbentCard& incumbent, NearCards* near_cards,
                       const std::atomic<bool>& stop)
      : problem_(problem), incumbent_(incumbent), near_cards_(near_cards), stop_(stop) {}
  double threshold() const override { return near_cards_ ? near_cards_->ceiling() : incumbent_.value(); }
  void offer(const int* points, double loss, double multiplier) override {
    if (near_cards_)
      near_cards_->offer(problem_, make_card(loss, problem_.table.n_columns, nullptr, 0, points, multiplier), stop_);
    else
      incumbent_.offer(nullptr, 0, points);
  }
  // The card without columns is what a search without any time returns.
  bool stopped() const override { return false; }

 private:
  const ScoreProblem& problem_;
  IncumbentCard& incumbent_;
  NearCards* near_cards_;
  const std::atomic<bool>& stop_;
};

class SupportSearch {
 public:
  SupportSearch(const ScoreProblem& problem, const SearchOptions& options) : problem_(problem), options_(options) {}

  SearchResult run() {
    result_.lower_bound = 0;
    result_.end = run_monitored(signals_, options_, clock_, [this] { search(); });
    result_.n_fitted = signals_.n_fitted;
    result_.snapshot = signals_.snapshot.now();
    if (near_cards_) {
      result_.near_cards = near_cards_->sorted();
      result_.n_near = near_cards_->count();
      result_.near_ceiling = near_cards_->ceiling();
    }
    return std::move(result_);
  }

 private:
  void search() {
    const auto stopped = [this] { return signals_.stop.load(std::memory_order_relaxed); };
    table_ = merge_rows(problem_.table, options_.n_threads, stopped);
    // Without time for the rows there is the card without columns, and the one that was given.
    if (stopped()) table_ = merge_rows_by(problem_.table, columns_of(options_.resume.card), options_.n_threads);
    result_.merging_seconds = clock_.seconds();
    const bool all_cards = options_.near_optimal >= 0;
    const std::vector<int> usable = usable_columns(problem_, table_, !all_cards);
    const bool binary = problem_.max_size <= max_binary_columns && !usable.empty() && BitColumns::fits(problem_.table, usable);
    const std::size_t n_segments = BitColumns::count_segments(problem_.table);
    const RoundingSlack rounding(problem_, table_);
    const auto slack_within = [&](int low, int high) {
      return binary ? rounding.of_bits(low, high, n_segments) : rounding.of_rows(low, high);
    };
    // Whatever the tree, the card without columns is fitted on row groups.
    slack_ = std::max(slack_within(problem_.intercept_lower, problem_.intercept_upper),
                      rounding.of_rows(problem_.intercept_lower, problem_.intercept_upper));
    RelaxedBounds relaxed(problem_, table_, rounding, usable, relaxation_delay(), signals_);
    IncumbentCard incumbent(problem_, table_);
    search_empty_card(incumbent);
    incumbent.offer(options_.resume.card);
    // A search that is stopped before it knows its order keeps what it was given.
    SearchSnapshot snapshot = options_.resume;
    snapshot.card = incumbent.best();
    signals_.snapshot.begin(snapshot);
    if (options_.heuristic && !stopped())
      run_beam_heuristic(problem_, table_, usable, slack_, incumbent, stopped, !options_.search);
    signals_.upper_bound = incumbent.value();
    result_.heuristic_seconds = clock_.seconds();
    result_.heuristic_value = incumbent.value();
    result_.card = incumbent.best();
    signals_.snapshot.improve(incumbent.best());
    result_.lower_bound = relaxed.all();
    result_.relaxed_point = relaxed.point();
    if (stopped() || !options_.search) return;
    int low, high;
    tighten_intercept(problem_, table_, usable, ceiling(incumbent.value()), low, high);
    const ColumnOrder order = order_columns(problem_, table_, usable, slack_, low, high, !all_cards, stopped);
    relaxed.set_order(order.columns);
    if (snapshot.order != order.columns) snapshot.finished.clear();
    snapshot.order = order.columns;
    snapshot.card = incumbent.best();
    signals_.snapshot.begin(snapshot);
    ColumnLimits limits{{}, {}, problem_.scale.least(low), problem_.scale.most(high), slack_within(low, high)};
    for (const int column : order.columns) {
      limits.lower.push_back(problem_.least_coefficient(column));
      limits.upper.push_back(problem_.most_coefficient(column));
    }
    SearchState state{problem_, options_.near_optimal >= 0 ? 0 : options_.gap, order, limits, low, high, incumbent, signals_};
    const double proof_slack = std::max(limits.slack, rounding.of_rows(low, high));
    const auto search_and_prove = [&](const auto& tree) {
      search_tree(tree, state, relaxed);
      if (options_.proof_limit > 0 && !signals_.stop) write_proof(tree, state, proof_slack);
    };
    const auto search_shifted = [&](const auto& tree) {
      if (problem_.shift.active())
        search_and_prove(ShiftTree(tree, problem_, order.columns, limits));
      else
        search_and_prove(tree);
    };
    if (binary)
      search_shifted(BinaryTree(problem_.table, order.columns, limits, problem_.max_size, options_.n_threads, signals_.stop));
    else
      search_shifted(RowTree(table_, order.columns, limits));
    result_.relaxed_point = relaxed.point();
    result_.card = incumbent.best();
    result_.n_searched = state.n_searched;
    result_.n_boxes = state.n_boxes;
  }

  double relaxation_delay() const {
    const SearchParameters& parameters = options_.parameters;
    return std::min(parameters.relaxation_delay, parameters.relaxation_time_fraction * options_.time_limit);
  }

  static std::vector<int> columns_of(const ScoreCard& card) {
    std::vector<int> columns;
    for (std::size_t j = 0; j < card.points.size(); ++j)
      if (card.points[j] != 0) columns.push_back(static_cast<int>(j));
    return columns;
  }

  // Cards worse than this are of no interest when one of that value is known.
  double ceiling(double value) const {
    return options_.near_optimal >= 0 ? value * (1 + options_.near_optimal) + slack_ : value;
  }

  // For the best card, and then, if they are wanted, for all cards near it.
  template <class Tree>
  void search_tree(const Tree& tree, SearchState& state, const RelaxedBounds& relaxed) {
    const double root_point = best_constant(state);
    result_.lower_bound = branch_and_bound(tree, state, &root_point, relaxed);
    signals_.snapshot.improve(state.incumbent.best());
    if (options_.near_optimal < 0 || signals_.stop) return;
    // An infinite ceiling would call for every card; there is none to collect.
    const double value = state.incumbent.value();
    if (!std::isfinite(value)) return;
    near_cards_.emplace(ceiling(value), options_.near_limit, static_cast<bool>(options_.on_cards));
    signals_.near_cards = &*near_cards_;
    state.near_cards = &*near_cards_;
    search_empty_card(state.incumbent);
    branch_and_bound(tree, state, &root_point, relaxed);
    result_.near_complete = !signals_.stop;
  }

  template <class Tree>
  void write_proof(const Tree& tree, SearchState& state, double slack) {
    // Cards near the best may have been collected meanwhile: the proof is about the best.
    state.near_cards = nullptr;
    if (!std::isfinite(state.incumbent.value())) return;
    const double root_point = best_constant(state);
    result_.proof = std::make_unique<ProofWriter<Tree>>(tree, state, table_, slack, options_.proof_limit)->write(&root_point);
  }

  // Searches or prunes every support; returns the dual bound.
  template <class Tree>
  double branch_and_bound(const Tree& tree, SearchState& state, const double* root_point, const RelaxedBounds& relaxed) {
    if (signals_.stop) return relaxed.all();
    std::vector<OpenNode> nodes = std::make_unique<SearchWorker<Tree>>(tree, state)->process_root(root_point);
    // Stopped on the way, some nodes may be missing.
    if (signals_.stop) return relaxed.all();
    std::stable_sort(nodes.begin(), nodes.end(), [](const OpenNode& a, const OpenNode& b) { return a.bound < b.bound; });
    WorkerPool pool(state, nodes, relaxed);
    pool.run(tree, root_point, options_.n_threads);
    return pool.lower_bound();
  }

  double log_odds() const {
    double positive = 0, total = 0;
    for (std::size_t i = 0; i < problem_.table.n_rows; ++i) {
      total += problem_.table.weights[i];
      if (problem_.table.labels[i] > 0) positive += problem_.table.weights[i];
    }
    return positive <= 0 ? -infinity : positive >= total ? infinity : std::log(positive / (total - positive));
  }

  // The best intercept of a card without columns, within its limits.
  double best_constant(const SearchState& state) const {
    return std::clamp(log_odds(), state.limits.intercept_lower, state.limits.intercept_upper);
  }

  // At a free scale every intercept b makes scores from b low to b high, and all whose range holds the log odds are equally
  // good. The smallest whose largest score is no smaller than the odds, and its neighbour towards 0, are as good as any.
  void offer_intercepts(IncumbentCard& incumbent) const {
    const double odds = log_odds();
    const double first = std::clamp(std::ceil(std::fabs(odds) / problem_.scale.high), 0.0, 1e9);
    for (const double size : {first, std::max(first - 1, 0.0)}) {
      const int intercept =
          static_cast<int>(std::clamp(std::copysign(size, odds), static_cast<double>(problem_.intercept_lower),
                                      static_cast<double>(problem_.intercept_upper)));
      incumbent.offer(nullptr, 0, &intercept);
    }
  }

  void search_empty_card(IncumbentCard& incumbent) {
    if (!problem_.rules.admits(nullptr, 0)) return;
    // Where labels may change, their odds as they are say too little.
    const bool plain = problem_.scale.free() && !problem_.shift.active();
    if (plain && !near_cards_ && problem_.rules.empty()) return offer_intercepts(incumbent);
    ScoreCells cells;
    RowPartition(table_.n_rows()).write_cells(table_, nullptr, 0, cells);
    EmptySupportListener listener(problem_, incumbent, near_cards_ ? &*near_cards_ : nullptr, signals_.stop);
    const double start = 0;
    const std::unique_ptr<SupportLoss> loss = make_loss(problem_);
    loss->open(nullptr, cells);
    search_points(*loss, cells, problem_.range(nullptr, 0, problem_.intercept_lower, problem_.intercept_upper), slack_, &start,
                  listener);
  }

  const ScoreProblem& problem_;
  const SearchOptions& options_;
  const SearchClock clock_;
  SearchSignals signals_;
  CodedTable table_;
  double slack_ = 0;
  std::optional<NearCards> near_cards_;
  SearchResult result_{};
};

}  // namespace

SearchResult search_supports(const ScoreProblem& problem, const SearchOptions& options) {
  return SupportSearch(problem, options).run();
}

}  // namespace surefoot
