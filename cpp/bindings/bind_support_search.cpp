#include <algorithm>
#include <exception>

#include "arrays.hpp"
#include "surefoot/riskscore/search/support_search.hpp"

namespace surefoot::bindings {
namespace {

using Flags = Matrix<std::uint8_t>;
using Ints = Vector<std::int32_t>;

std::vector<std::uint8_t> flags_of(const Flags& flags, std::size_t row) {
  const std::uint8_t* begin = flags.data() + row * flags.shape(1);
  return {begin, begin + flags.shape(1)};
}

CardRules make_rules(std::size_t n_columns, const Flags& members, const Ints& least, const Ints& most, const Flags& cause,
                     const Flags& effect, const Vector<double>& row_lower, const Vector<double>& row_upper,
                     const Matrix<double>& row_coefficient) {
  const std::size_t n_groups = members.shape(0), n_implications = cause.shape(0), n_rows = row_coefficient.shape(0);
  require(least.shape(0) == n_groups && most.shape(0) == n_groups, "groups need a least and a most each");
  require(effect.shape(0) == n_implications, "implications need a cause and an effect each");
  require(row_lower.shape(0) == n_rows && row_upper.shape(0) == n_rows, "linear rules need two limits each");
  require((n_groups == 0 || members.shape(1) == n_columns) && (n_implications == 0 || cause.shape(1) == n_columns) &&
              (n_implications == 0 || effect.shape(1) == n_columns) &&
              (n_rows == 0 || row_coefficient.shape(1) == n_columns + 1),
          "rules need an entry for every column, linear rules one for the intercept before them");
  CardRules rules;
  for (std::size_t k = 0; k < n_groups; ++k) rules.groups.push_back({flags_of(members, k), least.data()[k], most.data()[k]});
  for (std::size_t k = 0; k < n_implications; ++k) rules.implications.push_back({flags_of(cause, k), flags_of(effect, k)});
  for (std::size_t k = 0; k < n_rows; ++k) {
    const double* row = row_coefficient.data() + k * (n_columns + 1);
    rules.rows.push_back({row_lower.data()[k], row_upper.data()[k], row[0], {row + 1, row + 1 + n_columns}});
  }
  return rules;
}

void add_sign_rules(CardRules& rules, std::size_t n_columns, const Flags& members) {
  require(members.shape(0) == 0 || members.shape(1) == n_columns, "sign rules need an entry for every column");
  for (std::size_t k = 0; k < members.shape(0); ++k) rules.signs.push_back({flags_of(members, k)});
}

void add_rate_rules(CardRules& rules, const Vector<std::uint8_t>& positive, const Vector<double>& least,
                    const Vector<double>& most, const Vector<double>& threshold, const Vector<double>& unflagged) {
  const std::size_t n = positive.shape(0);
  require(least.shape(0) == n && most.shape(0) == n && threshold.shape(0) == n && unflagged.shape(0) == n,
          "rates need two limits and two thresholds each");
  for (std::size_t k = 0; k < n; ++k)
    rules.rates.push_back({positive.data()[k] != 0, least.data()[k], most.data()[k], threshold.data()[k], unflagged.data()[k]});
}

// Pairs of a column and a value it may have.
void add_point_sets(CardRules& rules, std::size_t n_columns, const Ints& columns, const Ints& values) {
  require(columns.shape(0) == values.shape(0), "point sets need a value for every column they name");
  if (columns.shape(0) > 0) rules.values.resize(n_columns);
  for (std::size_t k = 0; k < columns.shape(0); ++k) {
    require(columns.data()[k] >= 0 && static_cast<std::size_t>(columns.data()[k]) < n_columns,
            "a point set names no column of the table");
    rules.values[static_cast<std::size_t>(columns.data()[k])].push_back(values.data()[k]);
  }
  for (auto& list : rules.values) std::sort(list.begin(), list.end());
}

void add_robust_term(ScoreProblem& problem, double radius, double label_price, const Vector<double>& price,
                     const Vector<std::uint8_t>& flips) {
  if (!(radius > 0)) return;
  const auto n_columns = static_cast<std::size_t>(problem.table.n_columns);
  require(price.shape(0) == n_columns && flips.shape(0) == n_columns, "prices of shifts need one entry per column");
  problem.robust = {radius, label_price, {price.data(), price.data() + n_columns}, {flips.data(), flips.data() + n_columns}};
  for (std::size_t j = 0; j < n_columns; ++j) require(price.data()[j] > 0, "prices of shifts must be above 0");
  require(label_price > 0, "prices of shifts must be above 0");
}

// A block of cards as Python takes it: values, intercepts, points with a row for every card, and multipliers.
nb::tuple to_python(const std::vector<ScoreCard>& cards, std::size_t n_columns) {
  std::vector<double> values, multipliers;
  std::vector<std::int32_t> intercepts, points;
  for (const ScoreCard& card : cards) {
    values.push_back(card.value);
    multipliers.push_back(card.multiplier);
    intercepts.push_back(card.intercept);
    points.insert(points.end(), card.points.begin(), card.points.end());
  }
  return nb::make_tuple(to_numpy(std::move(values)), to_numpy(std::move(intercepts)), to_numpy(std::move(points), n_columns),
                        to_numpy(std::move(multipliers)));
}

// Order of the columns, finished pairs of them, intercept and points of the best card.
nb::tuple to_python(const SearchSnapshot& snapshot) {
  std::vector<std::int32_t> finished;
  for (const auto& pair : snapshot.finished) finished.insert(finished.end(), pair.begin(), pair.end());
  return nb::make_tuple(to_numpy(std::vector<std::int32_t>(snapshot.order.begin(), snapshot.order.end())),
                        to_numpy(std::move(finished), 2), snapshot.card.intercept,
                        to_numpy(std::vector<std::int32_t>(snapshot.card.points.begin(), snapshot.card.points.end())));
}

// Calls from the calling thread of a search into Python. What Python raises ends the search and is kept.
class PythonListener {
 public:
  // Whether the search may go on.
  template <class Call>
  bool ask(Call&& call) {
    const nb::gil_scoped_acquire held;
    try {
      if (PyErr_CheckSignals() != 0) {
        // Ctrl-C ends the search, not the solve: the best card and its bound are worth having.
        if (!PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) throw nb::python_error();
        PyErr_Clear();
        return false;
      }
      return call();
    } catch (...) {
      raised_ = std::current_exception();
      return false;
    }
  }
  void rethrow() const {
    if (raised_) std::rethrow_exception(raised_);
  }

 private:
  std::exception_ptr raised_;
};

}  // namespace

void bind_support_search(nb::module_& module) {
  nb::class_<SearchResult>(module, "SupportSearchResult")
      .def_prop_ro("end", [](const SearchResult& r) { return static_cast<int>(r.end); })
      .def_prop_ro("value", [](const SearchResult& r) { return r.card.value; })
      .def_prop_ro("intercept", [](const SearchResult& r) { return r.card.intercept; })
      .def_prop_ro(
          "points",
          [](const SearchResult& r) { return to_numpy(std::vector<std::int32_t>(r.card.points.begin(), r.card.points.end())); })
      .def_prop_ro("multiplier", [](const SearchResult& r) { return r.card.multiplier; })
      .def_ro("lower_bound", &SearchResult::lower_bound)
      .def_ro("n_fitted", &SearchResult::n_fitted)
      .def_ro("n_searched", &SearchResult::n_searched)
      .def_ro("n_boxes", &SearchResult::n_boxes)
      .def_ro("heuristic_value", &SearchResult::heuristic_value)
      .def_ro("merging_seconds", &SearchResult::merging_seconds)
      .def_ro("heuristic_seconds", &SearchResult::heuristic_seconds)
      .def_prop_ro("near_cards", [](const SearchResult& r) { return to_python(r.near_cards, r.card.points.size()); })
      .def_ro("n_near", &SearchResult::n_near)
      .def_ro("near_ceiling", &SearchResult::near_ceiling)
      .def_ro("near_complete", &SearchResult::near_complete)
      .def_prop_ro("snapshot", [](const SearchResult& r) { return to_python(r.snapshot); })
      .def_prop_ro("proof", [](const SearchResult& r) -> nb::object {
        if (!r.proof.complete) return nb::none();
        return nb::make_tuple(
            r.proof.threshold, r.proof.intercept_lower, r.proof.intercept_upper,
            to_numpy(std::vector<std::int32_t>(r.proof.columns)), to_numpy(std::vector<std::int32_t>(r.proof.twins)),
            to_numpy(std::vector<std::int32_t>(r.proof.steps)), to_numpy(std::vector<double>(r.proof.points)));
      });
  module.def(
      "search_supports",
      [](Matrix<double> columns, Vector<double> labels, Vector<double> weights, Ints lower, Ints upper, int intercept_lower,
         int intercept_upper, int max_size, double penalty, Flags members, Ints least, Ints most, Flags cause, Flags effect,
         Vector<double> row_lower, Vector<double> row_upper, Matrix<double> row_coefficient, Flags one_sign,
         Vector<std::uint8_t> rate_positive, Vector<double> rate_least, Vector<double> rate_most, Vector<double> rate_threshold,
         Vector<double> rate_unflagged, Ints set_columns, Ints set_values, double radius, double label_price,
         Vector<double> column_price, Vector<std::uint8_t> column_flips, double least_multiplier, double most_multiplier,
         double gap, double time_limit, bool heuristic, int n_threads, nb::object on_progress, double near_optimal,
         std::size_t near_limit, std::size_t proof_limit, nb::object on_cards, Ints resume_order,
         Matrix<std::int32_t> resume_finished, int resume_intercept, Ints resume_points, double snapshot_interval,
         nb::object on_snapshot, bool search) {
        const std::size_t n_columns = columns.shape(0), n_rows = columns.shape(1);
        require(labels.shape(0) == n_rows && weights.shape(0) == n_rows, "labels and weights need one entry per row");
        require(lower.shape(0) == n_columns && upper.shape(0) == n_columns, "limits of points need one entry per column");
        require(n_rows > 0, "the table has no rows");
        require(max_size >= 0 && max_size <= max_card_size, "max_size is out of range");
        require(intercept_lower <= intercept_upper, "the intercept has no value to take");
        ScoreProblem problem{{columns.data(), n_rows, static_cast<int>(n_columns), labels.data(), weights.data()},
                             {lower.data(), lower.data() + n_columns},
                             {upper.data(), upper.data() + n_columns},
                             intercept_lower,
                             intercept_upper,
                             max_size,
                             penalty,
                             make_rules(n_columns, members, least, most, cause, effect, row_lower, row_upper, row_coefficient)};
        add_sign_rules(problem.rules, n_columns, one_sign);
        add_rate_rules(problem.rules, rate_positive, rate_least, rate_most, rate_threshold, rate_unflagged);
        add_point_sets(problem.rules, n_columns, set_columns, set_values);
        add_robust_term(problem, radius, label_price, column_price, column_flips);
        require(least_multiplier > 0 && least_multiplier <= most_multiplier, "the multiplier has no value to take");
        problem.scale = {1 / most_multiplier, 1 / least_multiplier};
        SearchOptions options;
        options.n_threads = n_threads;
        options.time_limit = time_limit;
        options.gap = gap;
        options.heuristic = heuristic;
        options.search = search;
        options.near_optimal = near_optimal;
        options.near_limit = near_limit;
        options.proof_limit = proof_limit;
        options.snapshot_interval = snapshot_interval;
        require(resume_points.shape(0) == 0 || resume_points.shape(0) == n_columns, "a card to go on from needs all columns");
        require(resume_finished.shape(0) == 0 || resume_finished.shape(1) == 2, "finished parts are pairs of columns");
        options.resume.order.assign(resume_order.data(), resume_order.data() + resume_order.shape(0));
        for (std::size_t k = 0; k < resume_finished.shape(0); ++k)
          options.resume.finished.push_back({resume_finished.data()[2 * k], resume_finished.data()[2 * k + 1]});
        options.resume.card.intercept = resume_intercept;
        options.resume.card.points.assign(resume_points.data(), resume_points.data() + resume_points.shape(0));
        PythonListener python;
        if (!on_snapshot.is_none())
          options.on_snapshot = [&](const SearchSnapshot& snapshot) {
            return python.ask([&] { return nb::cast<bool>(on_snapshot(*to_python(snapshot))); });
          };
        options.on_progress = [&](const SearchProgress& progress) {
          return python.ask([&] {
            return on_progress.is_none() ||
                   nb::cast<bool>(on_progress(progress.upper_bound, progress.lower_bound, progress.seconds, progress.n_fitted));
          });
        };
        if (!on_cards.is_none())
          options.on_cards = [&](const std::vector<ScoreCard>& cards) {
            return python.ask([&] { return nb::cast<bool>(on_cards(*to_python(cards, n_columns))); });
          };
        SearchResult result;
        {
          const nb::gil_scoped_release released;
          result = search_supports(problem, options);
        }
        python.rethrow();
        return result;
      },
      nb::arg("columns"), nb::arg("labels"), nb::arg("weights"), nb::arg("lower"), nb::arg("upper"), nb::arg("intercept_lower"),
      nb::arg("intercept_upper"), nb::arg("max_size"), nb::arg("penalty"), nb::arg("members"), nb::arg("least"),
      nb::arg("most"), nb::arg("cause"), nb::arg("effect"), nb::arg("row_lower"), nb::arg("row_upper"),
      nb::arg("row_coefficient"), nb::arg("one_sign"), nb::arg("rate_positive"), nb::arg("rate_least"), nb::arg("rate_most"),
      nb::arg("rate_threshold"), nb::arg("rate_unflagged"), nb::arg("set_columns"), nb::arg("set_values"), nb::arg("radius"),
      nb::arg("label_price"), nb::arg("column_price"), nb::arg("column_flips"), nb::arg("least_multiplier"),
      nb::arg("most_multiplier"), nb::arg("gap"), nb::arg("time_limit"), nb::arg("heuristic"), nb::arg("n_threads"),
      nb::arg("on_progress").none(), nb::arg("near_optimal"), nb::arg("near_limit"), nb::arg("proof_limit"),
      nb::arg("on_cards").none(), nb::arg("resume_order"), nb::arg("resume_finished"), nb::arg("resume_intercept"),
      nb::arg("resume_points"), nb::arg("snapshot_interval"), nb::arg("on_snapshot").none(), nb::arg("search") = true);
}

}  // namespace surefoot::bindings
