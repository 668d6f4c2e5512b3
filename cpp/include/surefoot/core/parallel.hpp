// Row blocks over threads, with results that do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace surefoot {

// How rows are cut into blocks; not tuned.
struct RowBlockParameters {
  std::int64_t work_per_row = 32;                         // multiplications, where the caller does not know better
  std::int64_t work_per_block = std::int64_t{1} << 16;    // multiplications; with fewer, starting a thread takes as long
  std::int64_t max_blocks = 32;                           // more would balance threads better, and take longer to add up
  std::int64_t max_partial_sums = std::int64_t{1} << 27;  // numbers in all blocks together: a gigabyte
};

// The cut into blocks depends on the number of rows alone. Each block owns its partial sums and the caller adds them in block
// order, so one thread and many threads add the same numbers in the same order.
struct RowBlocks {
  std::int64_t n_rows;
  std::int64_t n_blocks;

  explicit RowBlocks(std::int64_t rows) : RowBlocks(rows, RowBlockParameters{}.work_per_row * rows, 1) {}

  // As many blocks as the multiplications of all rows together make, and few enough that their partial sums of this many numbers
  // each stay within the limit.
  RowBlocks(std::int64_t rows, std::int64_t work, std::size_t part_size)
      : n_rows(rows),
        n_blocks(std::clamp<std::int64_t>(work / RowBlockParameters{}.work_per_block, 1, most_blocks(part_size))) {}

  static std::int64_t most_blocks(std::size_t part_size) {
    const RowBlockParameters limits;
    return std::clamp<std::int64_t>(limits.max_partial_sums / static_cast<std::int64_t>(part_size), 1, limits.max_blocks);
  }

  std::int64_t begin(std::int64_t block) const { return n_rows * block / n_blocks; }
  std::int64_t end(std::int64_t block) const { return n_rows * (block + 1) / n_blocks; }
};

// Calls work(block) once for every block. Small tables have one block and never start a thread. The first exception of any thread
// ends the work and reaches the caller; a machine that grants no further thread is served by those it granted.
template <class Work>
void for_each_block(const RowBlocks& blocks, int n_threads, Work&& work) {
  // Starting a thread takes as long as half a block: each should have two.
  const std::int64_t crew = std::clamp<std::int64_t>(blocks.n_blocks / 2, 1, std::max(n_threads, 1));
  if (crew == 1) {
    for (std::int64_t block = 0; block < blocks.n_blocks; ++block) work(block);
    return;
  }
  std::atomic<std::int64_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr failure;
  auto take_blocks = [&] {
    try {
      for (std::int64_t block = next++; block < blocks.n_blocks && !failed; block = next++) work(block);
    } catch (...) {
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  others.reserve(static_cast<std::size_t>(crew - 1));
  try {
    for (std::int64_t k = 1; k < crew; ++k) others.emplace_back(take_blocks);
  } catch (const std::system_error&) {
  }
  take_blocks();
  for (auto& other : others) other.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace surefoot
