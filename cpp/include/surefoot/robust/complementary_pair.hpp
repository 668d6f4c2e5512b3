// Slack and multiplier of one inequality on their way to an optimum, where one of the two is 0.
#pragma once

#include <algorithm>
#include <cmath>

namespace surefoot {

// What a direction is to make of the products slack * multiplier.
struct Aim {
  enum class Kind {
    affine,     // 0
    corrected,  // target * share, the last direction's own product corrected for (Mehrotra)
    recentred,  // as aimed, but no pair may leave the neighbourhood of the path after a step of this length (Gondzio)
    restored    // as aimed before recentring
  };
  Kind kind;
  double target = 0;
  double length = 0;
};

// How far a direction can be followed, and the products along it:
//   sum of (slack + t slack_step)(multiplier + t multiplier_step) = now + t first + t^2 second.
struct StepRoom {
  double length = INFINITY;
  double first = 0, second = 0;

  void join(const StepRoom& other) {
    length = std::min(length, other.length);
    first += other.first;
    second += other.second;
  }
};

struct ComplementaryPair {
  double slack = 0, multiplier = 0;
  double slack_step = 0, multiplier_step = 0;
  double product = 0;  // what the next direction should take off slack * multiplier
  double earlier_product = 0;
  double share = 0;          // this pair's part of the central path: slack * multiplier = mu * share
  double inverse_slack = 0;  // 1 / slack as of the last refresh(): directions are many, divisions slow

  void refresh() { inverse_slack = 1.0 / slack; }
  double ratio() const { return multiplier * inverse_slack; }

  void aim(const Aim& aim) {
    switch (aim.kind) {
      case Aim::Kind::affine:
        product = slack * multiplier;
        break;
      case Aim::Kind::corrected:
        product = slack * multiplier + slack_step * multiplier_step - aim.target * share;
        break;
      case Aim::Kind::recentred: {
        constexpr double reach = 10.0;
        const double after = (slack + aim.length * slack_step) * (multiplier + aim.length * multiplier_step);
        const double low = aim.target * share / reach, high = aim.target * share * reach;
        earlier_product = product;
        if (after < low) product -= low - after;
        if (after > high) product += std::min(after - high, high);
        break;
      }
      case Aim::Kind::restored:
        product = earlier_product;
        break;
    }
  }

  // Steps follow from the slack's: multiplier * slack_step + slack * multiplier_step = -product.
  void follow_slack() { multiplier_step = -(product + multiplier * slack_step) * inverse_slack; }

  void add_to(StepRoom& room) const {
    if (slack + room.length * slack_step < 0) room.length = -slack / slack_step;
    if (multiplier + room.length * multiplier_step < 0) room.length = -multiplier / multiplier_step;
    room.first += slack * multiplier_step + multiplier * slack_step;
    room.second += slack_step * multiplier_step;
  }

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
