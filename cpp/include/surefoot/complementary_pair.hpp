// Slack and multiplier of one inequality on their way to an optimum, where one of the two is 0.
#pragma once

#include <algorithm>
#include <cmath>

namespace surefoot {

struct ComplementaryPair {
  double slack = 0, multiplier = 0;
  double slack_step = 0, multiplier_step = 0;
  double product = 0;  // what the next direction should take off slack * multiplier
  double earlier_product = 0;
  double share = 0;          // this pair's part of the central path: slack * multiplier = mu * share
  double inverse_slack = 0;  // 1 / slack as of the last refresh(): directions are many, divisions slow

  void refresh() { inverse_slack = 1.0 / slack; }
  double ratio() const { return multiplier * inverse_slack; }

  // Mehrotra's aim: the product is to become target * share, the last direction's own product corrected for.
  void aim(double correction, double target) {
    product = slack * multiplier + correction * slack_step * multiplier_step - target * share;
  }

  // Gondzio's aim: a product that would leave the neighbourhood of the path after a step of this length is pulled back.
  void recentre(double length, double target) {
    constexpr double reach = 10.0;
    const double after = product_after(length), low = target * share / reach, high = target * share * reach;
    if (after < low) product -= low - after;
    if (after > high) product += std::min(after - high, high);
  }

  // Steps follow from the slack's: multiplier * slack_step + slack * multiplier_step = -product.
  void follow_slack() { multiplier_step = -(product + multiplier * slack_step) * inverse_slack; }

  void shorten(double& length) const {
    if (slack + length * slack_step < 0) length = -slack / slack_step;
    if (multiplier + length * multiplier_step < 0) length = -multiplier / multiplier_step;
  }

  double product_after(double length) const { return (slack + length * slack_step) * (multiplier + length * multiplier_step); }

  void move(double length) {
    slack += length * slack_step;
    multiplier += length * multiplier_step;
  }

  // One full step shows which sides will be large; nothing starts smaller than it was.
  void jump(double least_slack) {
    slack = std::max(std::fabs(slack + slack_step), least_slack);
    multiplier = std::max(std::fabs(multiplier + multiplier_step), share);
  }
};

}  // namespace surefoot
