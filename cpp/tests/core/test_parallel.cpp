// Blocks of rows: every block once, exceptions not lost, no dependence on the number of threads.
#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "check.hpp"
#include "surefoot/core/parallel.hpp"

using surefoot::for_each_block;
using surefoot::RowBlocks;

TEST(blocks_cover_all_rows_in_order_without_overlap) {
  for (const std::int64_t rows : {0, 1, 2047, 2048, 4095, 4096, 100003, 10000000}) {
    const RowBlocks blocks(rows);
    CHECK(blocks.n_blocks >= 1);
    CHECK_EQUAL(blocks.begin(0), 0);
    CHECK_EQUAL(blocks.end(blocks.n_blocks - 1), rows);
    for (std::int64_t block = 1; block < blocks.n_blocks; ++block) {
      CHECK_EQUAL(blocks.begin(block), blocks.end(block - 1));
      CHECK(blocks.begin(block) < blocks.end(block));
    }
  }
}

TEST(small_tables_have_one_block_and_large_ones_several) {
  CHECK_EQUAL(RowBlocks(4095).n_blocks, 1);
  CHECK(RowBlocks(5000).n_blocks > 1);
}

TEST(few_rows_with_much_work_are_shared_out_and_large_partial_sums_limit_the_blocks) {
  CHECK(RowBlocks(200, 1 << 20, 100).n_blocks == 16);
  CHECK(RowBlocks(1'000'000, std::int64_t{1} << 40, 8001 * 8001).n_blocks == 2);
  CHECK(RowBlocks(1'000'000, std::int64_t{1} << 40, std::size_t{1} << 30).n_blocks == 1);
}

TEST(every_block_is_visited_exactly_once_whatever_the_number_of_threads) {
  const RowBlocks blocks(100000);
  for (const int n_threads : {-1, 0, 1, 2, 3, 64}) {
    std::vector<std::atomic<int>> visits(static_cast<std::size_t>(blocks.n_blocks));
    for_each_block(blocks, n_threads, [&](std::int64_t block) { ++visits[static_cast<std::size_t>(block)]; });
    for (const auto& count : visits) CHECK_EQUAL(count.load(), 1);
  }
}

TEST(an_exception_of_any_thread_reaches_the_caller_unchanged) {
  const RowBlocks blocks(100000);
  for (const int n_threads : {1, 2, 3}) {
    for (const std::int64_t bad : {std::int64_t{0}, blocks.n_blocks / 2, blocks.n_blocks - 1}) {
      std::string message;
      try {
        for_each_block(blocks, n_threads, [&](std::int64_t block) {
          if (block == bad) throw std::out_of_range("block " + std::to_string(block));
        });
      } catch (const std::out_of_range& error) {
        message = error.what();
      }
      CHECK_EQUAL(message, "block " + std::to_string(bad));
    }
  }
}

TEST(when_every_block_throws_the_caller_sees_one_exception) {
  const auto fail = [](std::int64_t) { throw std::runtime_error("all of them"); };
  CHECK_THROWS(for_each_block(RowBlocks(100000), 4, fail), std::runtime_error);
}
