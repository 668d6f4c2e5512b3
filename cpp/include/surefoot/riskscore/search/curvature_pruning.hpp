// Pruning where one or two columns are still to come, by the curvature of the loss: 0/1 columns, rows of a label weigh the same.
//
// At the fit of a prefix P let row i have the score s_i, risk r_i = sigmoid(s_i) and curvature c_i = r_i (1 - r_i). For any
// slopes u_i in [0, 1], all cards q on a support lie above a plane (Fenchel; riskscore/certificate/loss_planes.py). Take
// u_i = r_i + c_i t_i with t = X d, d the Newton step on P and the new columns A: d = -H^-1 g. This plane is level along every
// column of the support, so it bounds all real coefficients at once, whatever their limits, by
//
//   loss at the fit - sum_i w_i KL(u_i | r_i),
//
// and with 0 < x <= 1, (1 - x) log(1 - x) + x <= x^2 (1/2 + x/6 + x^2/3), for t_i > 0 (else with 1 - r_i in place of r_i)
//
//   KL(u_i | r_i) <= c_i t_i^2 (1/2 + r_i (x/6 + x^2/3)),   x = r_i t_i <= 1.
//
// So a support loses at most (1/2 + r (x/6 + x^2/3)) d'Hd, r and x the largest of any row: at best half of what it would be if
// the loss were quadratic, and never more than it. A slope's plane (node_pruning.hpp) takes M |g| for each column instead, many
// times as much.
//
// H in columns P + {e, f} follows from how many rows have a 1 in them. Eliminating P leaves
//   S_ef = H_ef + h_e . v_f,   v_f = -H_PP^-1 h_f,     slope_f = g_f + h_f . v_0,
// and d'Hd = slope' S^-1 slope up to what the fit leaves. Rows with a 1 in more columns than counts are tabled for lie between
// none and the fewest of a part of them; so does S_ef then, between two ends. t_i lies between sums over the columns of the
// ends of d_f (x_f + its prediction by P); times the largest r_i up and 1 - r_i down, x is at most the sum of d_f `forward` and
// -d_f `backward`.
//
// The certificate (riskscore/certificate/curvature_bounds.py) repeats this; `reach` covers its rounding, twice.
#pragma once

#include <cstdint>
#include <vector>

#include "surefoot/riskscore/search/column_order.hpp"
#include "surefoot/riskscore/search/node_pruning.hpp"
#include "surefoot/riskscore/search/support_tree.hpp"

namespace surefoot {

struct CurvatureParameters {
  // A little stricter than the certificate: predictions of columns, scores, slopes, and changes x beyond these are not looked
  // at, nor are predictions that leave more than this of a slope.
  double most_prediction = 8, most_score = 29, most_slope = 0.9, most_change = 0.999, least_level = 0x1p-46;
  // As in the certificate: least r that a change is multiplied by.
  double least_share = 0.25;
  // Added to curvatures that are inverted; its effect is corrected. Pivots below the least are none. Not tuned.
  double regularisation = 1e-12, least_pivot = 1e-8;
  // Entries of the largest table of counts that the certificate makes.
  double most_counts = 20e6;
  // Margin, for each unit of the reach of slopes: four times that of the certificate.
  double margin = 0x1p-32;
};
inline constexpr CurvatureParameters curvature_parameters{};

// Of one thread, for trees with that many columns.
class CurvaturePruning {
 public:
  explicit CurvaturePruning(int n_columns);

  // As prune_candidates, with one or two columns to come; false, and nothing changed, where curvature says nothing.
  bool prune(const BinaryTree& tree, const BinaryTree::Node& node, const ColumnLimits& limits, const ColumnOrder& order,
             double threshold, int budget, CandidateList& list, std::int32_t* marks);

 private:
  bool open(const BinaryTree::Node& node, const ColumnLimits& limits, const CandidateList& list);
  void predict(const BinaryTree::Node& node, int begin, int end);
  void find_pairs(const BinaryTree& tree, const BinaryTree::Node& node, int e, int begin, int end);
  void find_bounds(int e, int begin, int end);

  int n_, tabled_;
  double epsilon_, loss_, rest_, margin_;  // of slopes and S; of the prefix: its loss, what its fit leaves
  double most_risk_, most_safety_;         // largest r_i and 1 - r_i
  double change_;                          // x of what the fit leaves
  double own_[max_binary_columns + 1];     // slopes of the prefix
  double step_[max_binary_columns + 1];    // v_0
  double curvature_[max_binary_columns + 1][max_binary_columns + 1], inverse_[max_binary_columns + 1][max_binary_columns + 1];
  double alternating_[max_binary_cells];                  // c by subset of the prefix
  std::vector<std::vector<double>> shared_, prediction_;  // h and v, by coordinate of the prefix and position
  std::vector<double> slope_, left_, forward_, backward_, mid_, wide_, bound_;
  std::vector<char> unfit_, dead_, open_, open_later_;
};

// By curvature where that is possible, otherwise by slopes. The search and the writer of its proof prune by this one function.
template <class Tree>
void prune_node(const Tree& tree, const typename Tree::Node& node, const ColumnLimits& limits, const ColumnOrder& order,
                double threshold, int budget, CurvaturePruning& curvature, CandidateList& list, std::int32_t* marks = nullptr) {
  if constexpr (Tree::has_curvature)
    if (curvature.prune(tree, node, limits, order, threshold, budget, list, marks)) return;
  prune_candidates(node, limits, order, threshold, budget, list, marks);
}

}  // namespace surefoot
