// The harness judges itself first: a check that cannot fail would make every other test worthless.
#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "check.hpp"

namespace {

std::vector<std::string> failures_of(std::function<void()> body) { return check::run({"inner", std::move(body)}); }

int refuse() { throw std::invalid_argument("no"); }

}  // namespace

TEST(true_checks_leave_no_failure) {
  const auto failures = failures_of([] {
    CHECK(1 + 1 == 2);
    CHECK_EQUAL(std::string("a"), "a");
    CHECK_NEAR(1.0, 1.05, 0.1);
    CHECK_NEAR(std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(), 0.0);
    CHECK_THROWS(refuse(), std::invalid_argument);
  });
  CHECK(failures.empty());
}

TEST(each_false_check_is_one_failure_and_the_test_goes_on) {
  const auto failures = failures_of([] {
    CHECK(1 + 1 == 3);
    CHECK_EQUAL(2, 3);
    CHECK_NEAR(1.0, 1.2, 0.1);
    CHECK_NEAR(std::nan(""), 1.0, 1e9);
    CHECK_THROWS(1 + 1, std::invalid_argument);
  });
  CHECK_EQUAL(failures.size(), 5u);
}

TEST(a_failure_names_file_and_both_values) {
  const auto failures = failures_of([] { CHECK_EQUAL(2 + 2, 5); });
  CHECK_EQUAL(failures.size(), 1u);
  CHECK(failures.at(0).find("test_check.cpp") != std::string::npos);
  CHECK(failures.at(0).find("2 + 2 = 4, expected 5") != std::string::npos);
}

TEST(an_exception_is_a_failure_with_its_message) {
  const auto failures = failures_of([] { throw std::runtime_error("the floor is gone"); });
  CHECK_EQUAL(failures.size(), 1u);
  CHECK(failures.at(0).find("the floor is gone") != std::string::npos);
}

TEST(failures_of_an_inner_run_stay_inside) {
  failures_of([] { CHECK(false); });
  CHECK(check::tally().failures.empty());
}

TEST(the_exit_code_tells_success_from_failure_and_from_nothing_run) {
  std::ostringstream out;
  const std::vector<check::Test> good{{"good", [] {}}};
  const std::vector<check::Test> mixed{{"good", [] {}}, {"bad", [] { CHECK(false); }}};
  CHECK_EQUAL(check::run_all(good, "", out), 0);
  CHECK_EQUAL(check::run_all(mixed, "", out), 1);
  CHECK_EQUAL(check::run_all(mixed, "good", out), 0);
  CHECK_EQUAL(check::run_all(mixed, "absent", out), 1);
  CHECK_EQUAL(check::run_all({}, "", out), 1);
  CHECK(out.str().find("FAILED bad") != std::string::npos);
}
