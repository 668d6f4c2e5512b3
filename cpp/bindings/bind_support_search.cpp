// The exact search for score cards: its problem, rules and options are filled by name, its results are read by name.
#include <algorithm>
#include <exception>

#include "arrays.hpp"
#include "surefoot/riskscore/search/support_search.hpp"

namespace surefoot::bindings {
namespace {

using Flags = Vector<std::uint8_t>;
using Ints = Vector<std::int32_t>;

// A problem together with the arrays it points into.
struct BoundScoreProblem {
  ScoreProblem problem;
  std::vector<nb::object> owners;  // keep the arrays alive
};

// Near-optimal cards, read column by column.
struct CardBlock {
  std::vector<ScoreCard> cards;
  std::size_t n_columns;
};

template <class T>
nb::object to_int32(const std::vector<T>& values) {
  return to_numpy(std::vector<std::int32_t>(values.begin(), values.end()));
}

template <class T, class Field>
nb::object collected(const CardBlock& block, Field&& field) {
  std::vector<T> values;
  for (const ScoreCard& card : block.cards) values.push_back(field(card));
  return to_numpy(std::move(values));
}

nb::object points_of(const CardBlock& block) {
  std::vector<std::int32_t> points;
  for (const ScoreCard& card : block.cards) points.insert(points.end(), card.points.begin(), card.points.end());
  return to_numpy(std::move(points), block.n_columns);
}

void require_rules(const CardRules& rules, std::size_t n_columns, std::size_t n_rows) {
  const char* message = "rules need an entry for every column";
  for (const GroupRule& rule : rules.groups) require(rule.member.size() == n_columns, message);
  for (const ImplicationRule& rule : rules.implications)
    require(rule.cause.size() == n_columns && rule.effect.size() == n_columns, message);
  for (const LinearRule& rule : rules.rows) require(rule.coefficient.size() == n_columns, message);
  for (const SignRule& rule : rules.signs) require(rule.member.size() == n_columns, message);
  for (const BudgetRule& rule : rules.budgets)
    for (const int column : rule.column)
      require(column >= 0 && static_cast<std::size_t>(column) < n_columns, "a budget names no column of the table");
  for (const FairRule& rule : rules.fair)
    require(rule.group.size() == n_rows, "a rule about groups needs an entry for every row");
  require(rules.values.size() <= n_columns, "a point set names no column of the table");
}

void require_shift(const ShiftTerm& shift, std::size_t n_columns) {
  require(shift.price.size() == n_columns && shift.flips.size() == n_columns, "prices of shifts need one entry per column");
  for (const double price : shift.price) require(price > 0, "prices of shifts must be above 0");
  require(shift.label_price > 0, "prices of shifts must be above 0");
}

void bind_rules(nb::module_& module) {
  nb::class_<CardRules>(module, "CardRules")
      .def(nb::init<>())
      .def(
          "add_group",
          [](CardRules& rules, Flags member, int least, int most) { rules.groups.push_back({copied(member), least, most}); },
          nb::kw_only(), nb::arg("member"), nb::arg("least"), nb::arg("most"))
      .def(
          "add_implication",
          [](CardRules& rules, Flags cause, Flags effect) { rules.implications.push_back({copied(cause), copied(effect)}); },
          nb::kw_only(), nb::arg("cause"), nb::arg("effect"))
      .def(
          "add_linear",
          [](CardRules& rules, double lower, double upper, double intercept_coefficient, Vector<double> coefficient) {
            rules.rows.push_back({lower, upper, intercept_coefficient, copied(coefficient)});
          },
          nb::kw_only(), nb::arg("lower"), nb::arg("upper"), nb::arg("intercept_coefficient"), nb::arg("coefficient"))
      .def(
          "add_sign", [](CardRules& rules, Flags member) { rules.signs.push_back({copied(member)}); }, nb::kw_only(),
          nb::arg("member"))
      .def(
          "add_rate",
          [](CardRules& rules, bool positive, double least, double most, double threshold, double unflagged) {
            rules.rates.push_back({positive, least, most, threshold, unflagged});
          },
          nb::kw_only(), nb::arg("positive"), nb::arg("least"), nb::arg("most"), nb::arg("threshold"), nb::arg("unflagged"))
      .def(
          "add_budget",
          [](CardRules& rules, Ints column, Ints group, Vector<double> cost, double most) {
            require(column.shape(0) == group.shape(0), "a budget needs a group for every column");
            rules.budgets.push_back({copied(column), copied(group), copied(cost), most});
            for (const int k : rules.budgets.back().group)
              require(k >= 0 && static_cast<std::size_t>(k) < cost.shape(0), "a budget needs a cost for every group");
          },
          nb::kw_only(), nb::arg("column"), nb::arg("group"), nb::arg("cost"), nb::arg("most"))
      .def(
          "add_fair",
          [](CardRules& rules, Ints group, Vector<double> share, Vector<double> observed, double most, double threshold) {
            require(group.shape(0) == share.shape(0), "a rule about groups needs a share for every row");
            rules.fair.push_back({copied(group), copied(share), copied(observed), 0, most, threshold});
            for (const int k : rules.fair.back().group)
              rules.fair.back().n_groups = std::max(rules.fair.back().n_groups, k + 1);
            // A share more than there are groups is one of no rows: the others are compared with a mean risk that is right.
            const int n_observed = static_cast<int>(observed.shape(0));
            require(n_observed == 0 || n_observed >= rules.fair.back().n_groups,
                    "a rule about mean risks needs an observed share for every group");
            rules.fair.back().n_groups = std::max(rules.fair.back().n_groups, n_observed);
          },
          nb::kw_only(), nb::arg("group"), nb::arg("share"), nb::arg("observed"), nb::arg("most"), nb::arg("threshold"))
      .def(
          "set_values",
          [](CardRules& rules, std::size_t column, Ints values) {
            if (rules.values.size() <= column) rules.values.resize(column + 1);
            rules.values[column].assign(values.data(), values.data() + values.shape(0));
            std::sort(rules.values[column].begin(), rules.values[column].end());
          },
          nb::arg("column"), nb::arg("values"));
}

void bind_problem(nb::module_& module) {
  nb::class_<ShiftTerm>(module, "ShiftTerm")
      .def(
          "__init__",
          [](ShiftTerm* self, double radius, double label_price, Vector<double> price, Flags flips) {
            new (self) ShiftTerm{radius, label_price, copied(price), copied(flips)};
          },
          nb::kw_only(), nb::arg("radius"), nb::arg("label_price"), nb::arg("price"), nb::arg("flips"));
  nb::class_<BoundScoreProblem>(module, "ScoreProblem")
      .def(
          "__init__",
          [](BoundScoreProblem* self, Matrix<double> columns, Vector<double> labels, Vector<double> weights, Ints lower,
             Ints upper, int intercept_lower, int intercept_upper, int max_size, double penalty, double least_multiplier,
             double most_multiplier, const CardRules& rules, const ShiftTerm* shift) {
            const std::size_t n_columns = columns.shape(0), n_rows = columns.shape(1);
            require(labels.shape(0) == n_rows && weights.shape(0) == n_rows, "labels and weights need one entry per row");
            require(lower.shape(0) == n_columns && upper.shape(0) == n_columns, "limits of points need one entry per column");
            require(n_rows > 0, "the table has no rows");
            require(max_size >= 0 && max_size <= max_card_size, "max_size is out of range");
            require(intercept_lower <= intercept_upper, "the intercept has no value to take");
            require(least_multiplier > 0 && least_multiplier <= most_multiplier, "the multiplier has no value to take");
            require_rules(rules, n_columns, n_rows);
            if (shift) require_shift(*shift, n_columns);
            new (self) BoundScoreProblem{{{columns.data(), n_rows, static_cast<int>(n_columns), labels.data(), weights.data()},
                                          {lower.data(), lower.data() + n_columns},
                                          {upper.data(), upper.data() + n_columns},
                                          intercept_lower,
                                          intercept_upper,
                                          max_size,
                                          penalty,
                                          rules,
                                          shift ? *shift : ShiftTerm{},
                                          {1 / most_multiplier, 1 / least_multiplier}},
                                         {nb::cast(columns), nb::cast(labels), nb::cast(weights)}};
            auto& values = self->problem.rules.values;
            if (!values.empty()) values.resize(n_columns);
          },
          nb::kw_only(), nb::arg("columns"), nb::arg("labels"), nb::arg("weights"), nb::arg("lower"), nb::arg("upper"),
          nb::arg("intercept_lower"), nb::arg("intercept_upper"), nb::arg("max_size"), nb::arg("penalty"),
          nb::arg("least_multiplier"), nb::arg("most_multiplier"), nb::arg("rules"), nb::arg("shift").none());
}

void bind_options(nb::module_& module) {
  nb::class_<SearchSnapshot>(module, "SearchSnapshot")
      .def(
          "__init__",
          [](SearchSnapshot* self, Ints order, Matrix<std::int32_t> finished, int intercept, Ints points) {
            require(finished.shape(0) == 0 || finished.shape(1) == 2, "finished subtrees are pairs of columns");
            new (self) SearchSnapshot;
            self->order.assign(order.data(), order.data() + order.shape(0));
            for (std::size_t k = 0; k < finished.shape(0); ++k)
              self->finished.push_back({finished.data()[2 * k], finished.data()[2 * k + 1]});
            self->card.intercept = intercept;
            self->card.points.assign(points.data(), points.data() + points.shape(0));
          },
          nb::kw_only(), nb::arg("order"), nb::arg("finished"), nb::arg("intercept"), nb::arg("points"))
      .def_prop_ro("order", [](const SearchSnapshot& s) { return to_int32(s.order); })
      .def_prop_ro("finished",
                   [](const SearchSnapshot& s) {
                     std::vector<std::int32_t> pairs;
                     for (const auto& pair : s.finished) pairs.insert(pairs.end(), pair.begin(), pair.end());
                     return to_numpy(std::move(pairs), 2);
                   })
      .def_prop_ro("intercept", [](const SearchSnapshot& s) { return s.card.intercept; })
      .def_prop_ro("points", [](const SearchSnapshot& s) { return to_int32(s.card.points); });
  nb::class_<SearchOptions>(module, "SearchOptions")
      .def(nb::init<>())
      .def_rw("n_threads", &SearchOptions::n_threads)
      .def_rw("time_limit", &SearchOptions::time_limit)
      .def_rw("gap", &SearchOptions::gap)
      .def_rw("heuristic", &SearchOptions::heuristic)
      .def_rw("search", &SearchOptions::search)
      .def_rw("near_optimal", &SearchOptions::near_optimal)
      .def_rw("near_limit", &SearchOptions::near_limit)
      .def_rw("proof_limit", &SearchOptions::proof_limit)
      .def_rw("resume", &SearchOptions::resume)
      .def_rw("snapshot_interval", &SearchOptions::snapshot_interval);
}

void bind_results(nb::module_& module) {
  nb::enum_<SearchEnd>(module, "SearchEnd")
      .value("COMPLETE", SearchEnd::complete)
      .value("TIME_LIMIT", SearchEnd::time_limit)
      .value("INTERRUPTED", SearchEnd::interrupted);
  nb::enum_<CandidateMark>(module, "CandidateMark", nb::is_arithmetic())
      .value("EXCLUDED", CandidateMark::excluded)
      .value("NOT_FIRST", CandidateMark::not_first)
      .value("CHILD", CandidateMark::child)
      .value("TWIN", CandidateMark::twin);
  nb::enum_<BoxCode>(module, "BoxCode", nb::is_arithmetic())
      .value("BOUNDED", BoxCode::bounded)
      .value("BRANCHED", BoxCode::branched)
      .value("SINGLE_CARD", BoxCode::single_card)
      .value("LEVELLED", BoxCode::levelled)
      .value("EMPTY", BoxCode::empty)
      .value("NOT_ADMITTED", BoxCode::not_admitted)
      .value("BY_NODE", BoxCode::by_node);
  nb::class_<SearchProgress>(module, "SearchProgress")
      .def_ro("upper_bound", &SearchProgress::upper_bound)
      .def_ro("lower_bound", &SearchProgress::lower_bound)
      .def_ro("seconds", &SearchProgress::seconds)
      .def_ro("n_fitted", &SearchProgress::n_fitted)
      .def_ro("fraction_done", &SearchProgress::fraction_done);
  nb::class_<CardBlock>(module, "CardBlock")
      .def_prop_ro("objectives",
                   [](const CardBlock& b) { return collected<double>(b, [](const ScoreCard& c) { return c.value; }); })
      .def_prop_ro(
          "intercepts",
          [](const CardBlock& b) { return collected<std::int32_t>(b, [](const ScoreCard& c) { return c.intercept; }); })
      .def_prop_ro("points", &points_of)
      .def_prop_ro("multipliers",
                   [](const CardBlock& b) { return collected<double>(b, [](const ScoreCard& c) { return c.multiplier; }); });
  nb::class_<ScoreProof>(module, "ScoreProof")
      .def_ro("threshold", &ScoreProof::threshold)
      .def_ro("intercept_lower", &ScoreProof::intercept_lower)
      .def_ro("intercept_upper", &ScoreProof::intercept_upper)
      .def_prop_ro("columns", [](const ScoreProof& p) { return to_int32(p.columns); })
      .def_prop_ro("twins", [](const ScoreProof& p) { return to_int32(p.twins); })
      .def_prop_ro("steps", [](const ScoreProof& p) { return to_int32(p.steps); })
      .def_prop_ro("points", [](const ScoreProof& p) { return to_numpy(std::vector<double>(p.points)); });
  nb::class_<SearchResult>(module, "SearchResult")
      .def_ro("end", &SearchResult::end)
      .def_prop_ro("value", [](const SearchResult& r) { return r.card.value; })
      .def_prop_ro("intercept", [](const SearchResult& r) { return r.card.intercept; })
      .def_prop_ro("points", [](const SearchResult& r) { return to_int32(r.card.points); })
      .def_prop_ro("multiplier", [](const SearchResult& r) { return r.card.multiplier; })
      .def_ro("lower_bound", &SearchResult::lower_bound)
      .def_ro("n_fitted", &SearchResult::n_fitted)
      .def_ro("n_searched", &SearchResult::n_searched)
      .def_ro("n_boxes", &SearchResult::n_boxes)
      .def_ro("heuristic_value", &SearchResult::heuristic_value)
      .def_ro("merging_seconds", &SearchResult::merging_seconds)
      .def_ro("heuristic_seconds", &SearchResult::heuristic_seconds)
      .def_prop_ro("near_cards", [](const SearchResult& r) { return CardBlock{r.near_cards, r.card.points.size()}; })
      .def_ro("n_near", &SearchResult::n_near)
      .def_ro("near_ceiling", &SearchResult::near_ceiling)
      .def_ro("near_complete", &SearchResult::near_complete)
      .def_prop_ro("relaxed_point", [](const SearchResult& r) { return to_numpy(std::vector<double>(r.relaxed_point)); })
      .def_ro("snapshot", &SearchResult::snapshot)
      .def_prop_ro(
          "proof", [](const SearchResult& r) -> const ScoreProof* { return r.proof.complete ? &r.proof : nullptr; },
          nb::rv_policy::reference_internal);
}

// Calls from the monitoring thread of a search into Python. What Python raises ends the search and is raised after it.
class PythonListener {
 public:
  // Whether the search may go on.
  template <class Call>
  bool call(Call&& callback) {
    const nb::gil_scoped_acquire held;
    try {
      if (PyErr_CheckSignals() != 0) {
        // Ctrl-C ends the search, not the solve: the best card and its bound are results.
        if (!PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) throw nb::python_error();
        PyErr_Clear();
        return false;
      }
      return callback();
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

SearchResult run_search(const BoundScoreProblem& bound, const SearchOptions& given, nb::object on_progress, nb::object on_cards,
                        nb::object on_snapshot) {
  const auto n_columns = static_cast<std::size_t>(bound.problem.table.n_columns);
  SearchOptions options = given;
  const std::size_t n_points = options.resume.card.points.size();
  require(n_points == 0 || n_points == n_columns, "a card to resume from needs all columns");
  PythonListener python;
  options.on_progress = [&](const SearchProgress& progress) {
    return python.call([&] { return on_progress.is_none() || nb::cast<bool>(on_progress(progress)); });
  };
  if (!on_cards.is_none())
    options.on_cards = [&](const std::vector<ScoreCard>& cards) {
      return python.call([&] { return nb::cast<bool>(on_cards(CardBlock{cards, n_columns})); });
    };
  if (!on_snapshot.is_none())
    options.on_snapshot = [&](const SearchSnapshot& snapshot) {
      return python.call([&] { return nb::cast<bool>(on_snapshot(snapshot)); });
    };
  SearchResult result;
  {
    const nb::gil_scoped_release released;
    result = search_supports(bound.problem, options);
  }
  python.rethrow();
  return result;
}

}  // namespace

void bind_support_search(nb::module_& module) {
  bind_rules(module);
  bind_problem(module);
  bind_options(module);
  bind_results(module);
  module.def("search_supports", &run_search, nb::arg("problem"), nb::arg("options"), nb::kw_only(),
             nb::arg("on_progress") = nb::none(), nb::arg("on_cards") = nb::none(), nb::arg("on_snapshot") = nb::none());
}

}  // namespace surefoot::bindings
