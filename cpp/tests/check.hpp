// What a test file needs, and no more. Include it from exactly one file per executable: it brings main().
//
//   TEST(sigmoid_of_zero_is_one_half) { CHECK_NEAR(sigmoid(0.0), 0.5, 0.0); }
//
// A failed check is reported with both values and its place; the test goes on, so one run shows every failure. An exception ends
// its test as a failure. An executable without tests, or a filter that matches none, fails too: it would prove nothing.
#pragma once

#include <cmath>
#include <exception>
#include <functional>
#include <iomanip>
#include <iostream>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace check {

struct Test {
  std::string name;
  std::function<void()> body;
};

// Failures of the current test. A harness that judges itself (test_check.cpp) swaps it out.
struct Tally {
  std::vector<std::string> failures;

  void fail(const char* file, int line, const std::string& what) {
    std::ostringstream message;
    message << file << ":" << line << ": " << what;
    failures.push_back(message.str());
  }
};

inline std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}

inline Tally& tally() {
  static Tally current;
  return current;
}

struct Registration {
  Registration(std::string name, std::function<void()> body) { tests().push_back({std::move(name), std::move(body)}); }
};

template <class Value>
std::string show(const Value& value) {
  std::ostringstream text;
  text << std::setprecision(std::numeric_limits<double>::max_digits10) << value;
  return text.str();
}

// Equal infinities are near each other; NaN is near nothing.
inline bool near(double actual, double expected, double tolerance) {
  return actual == expected || std::fabs(actual - expected) <= tolerance;
}

// Runs one test from a clean tally and returns what went wrong.
inline std::vector<std::string> run(const Test& test) {
  const Tally outer = std::exchange(tally(), Tally{});
  try {
    test.body();
  } catch (const std::exception& error) {
    tally().fail("uncaught exception", 0, error.what());
  } catch (...) {
    tally().fail("uncaught exception", 0, "not derived from std::exception");
  }
  return std::exchange(tally(), outer).failures;
}

// Runs the tests whose name contains the filter; returns the exit code of the executable.
inline int run_all(const std::vector<Test>& all, const std::string& filter, std::ostream& out) {
  int n_run = 0, n_failed = 0;
  for (const Test& test : all) {
    if (test.name.find(filter) == std::string::npos) continue;
    ++n_run;
    const auto failures = run(test);
    if (failures.empty()) continue;
    ++n_failed;
    out << "FAILED " << test.name << "\n";
    for (const auto& failure : failures) out << "  " << failure << "\n";
  }
  out << n_run - n_failed << " of " << n_run << " tests passed\n";
  return n_run > 0 && n_failed == 0 ? 0 : 1;
}

}  // namespace check

#define TEST(name)                                               \
  static void name();                                            \
  static const check::Registration register_##name{#name, name}; \
  static void name()

#define CHECK(condition)                                                               \
  do {                                                                                 \
    if (!(condition)) check::tally().fail(__FILE__, __LINE__, #condition " is false"); \
  } while (false)

#define CHECK_EQUAL(actual, expected)                                                                               \
  do {                                                                                                              \
    const auto& check_actual = (actual);                                                                            \
    const auto& check_expected = (expected);                                                                        \
    if (!(check_actual == check_expected))                                                                          \
      check::tally().fail(__FILE__, __LINE__,                                                                       \
                          #actual " = " + check::show(check_actual) + ", expected " + check::show(check_expected)); \
  } while (false)

#define CHECK_NEAR(actual, expected, tolerance)                                                                     \
  do {                                                                                                              \
    const double check_actual = (actual), check_expected = (expected), check_tolerance = (tolerance);               \
    if (!check::near(check_actual, check_expected, check_tolerance))                                                \
      check::tally().fail(__FILE__, __LINE__,                                                                       \
                          #actual " = " + check::show(check_actual) + ", expected " + check::show(check_expected) + \
                              " within " + check::show(check_tolerance));                                           \
  } while (false)

#define CHECK_THROWS(expression, exception)                                                               \
  do {                                                                                                    \
    bool check_thrown = false;                                                                            \
    try {                                                                                                 \
      (void)(expression);                                                                                 \
    } catch (const exception&) {                                                                          \
      check_thrown = true;                                                                                \
    }                                                                                                     \
    if (!check_thrown) check::tally().fail(__FILE__, __LINE__, #expression " did not throw " #exception); \
  } while (false)

int main(int argc, char** argv) { return check::run_all(check::tests(), argc > 1 ? argv[1] : "", std::cout); }
