// Row blocks over threads, with results that do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace surefoot {

// The cut into blocks depends on the number of rows alone. Each block owns its partial sums and the caller adds them in block
// order, so one thread and many threads add the same numbers in the same order.
struct RowBlocks {
  std::int64_t n_rows;
  std::int64_t n_blocks;

  explicit RowBlocks(std::int64_t rows) : n_rows(rows), n_blocks(std::clamp<std::int64_t>(rows / 2048, 1, 32)) {}

  std::int64_t begin(std::int64_t block) const { return n_rows * block / n_blocks; }
  std::int64_t end(std::int64_t block) const { return n_rows * (block + 1) / n_blocks; }
};

// Calls work(block) once for every block. Small tables have one block and never pay for a thread.
template <class Work>
void for_each_block(const RowBlocks& blocks, int n_threads, Work&& work) {
  const std::int64_t crew = std::min<std::int64_t>(std::max(n_threads, 1), blocks.n_blocks);
  if (crew == 1) {
    for (std::int64_t block = 0; block < blocks.n_blocks; ++block) work(block);
    return;
  }
  std::atomic<std::int64_t> next{0};
  auto take_blocks = [&] {
    for (std::int64_t block = next++; block < blocks.n_blocks; block = next++) work(block);
  };
  std::vector<std::thread> others;
  others.reserve(static_cast<std::size_t>(crew - 1));
  for (std::int64_t k = 1; k < crew; ++k) others.emplace_back(take_blocks);
  take_blocks();
  for (auto& other : others) other.join();
}

}  // namespace surefoot
