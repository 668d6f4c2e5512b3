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

// The cut into blocks depends on the number of rows alone. Each block owns its partial sums and the caller adds them in block
// order, so one thread and many threads add the same numbers in the same order.
struct RowBlocks {
  std::int64_t n_rows;
  std::int64_t n_blocks;

  explicit RowBlocks(std::int64_t rows) : RowBlocks(rows, 32 * rows, 1) {}

  // Blocks worth a thread's while, given the multiplications of all rows together, and few enough that their partial sums of this
  // many numbers each stay within a gigabyte.
  RowBlocks(std::int64_t rows, std::int64_t work, std::size_t part_size)
      : n_rows(rows),
        n_blocks(std::clamp<std::int64_t>(
            work >> 16, 1, std::clamp<std::int64_t>((std::int64_t{1} << 27) / static_cast<std::int64_t>(part_size), 1, 32))) {}

  std::int64_t begin(std::int64_t block) const { return n_rows * block / n_blocks; }
  std::int64_t end(std::int64_t block) const { return n_rows * (block + 1) / n_blocks; }
};

// Calls work(block) once for every block. Small tables have one block and never pay for a thread. The first exception of any thread
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
