//===- ProductRunner.cpp - Products of groups, in threads -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads share the columns; every output is computed by one thread alone, so
// results do not depend on their number.
//
//===----------------------------------------------------------------------===//

#include "ProductRunner.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <random>
#include <thread>

namespace nvfp4::reference {
namespace {

/// Columns that are decoded together; their codes stay in the cache while all
/// rows pass.
constexpr int64_t kColumnTile = 8;
/// Accumulators that are held at a time.
constexpr int64_t kChunk = int64_t{1} << 23;

/// Up to `limit` of 0..count-1 in ascending order, first and last included.
std::vector<int64_t> sample(int64_t count, int64_t limit, uint64_t seed) {
  std::vector<int64_t> all(static_cast<size_t>(count));
  std::iota(all.begin(), all.end(), int64_t{0});
  if (limit <= 0 || limit >= count)
    return all;
  std::mt19937_64 random(seed);
  std::vector<int64_t> chosen = {0};
  if (limit > 1)
    chosen.push_back(count - 1);
  if (limit > 2) {
    // A partial shuffle of what lies between.
    for (int64_t i = 1; i < limit - 1; ++i) {
      auto span = static_cast<uint64_t>(count - 1 - i);
      auto j = i + static_cast<int64_t>(random() % span);
      std::swap(all[static_cast<size_t>(i)], all[static_cast<size_t>(j)]);
      chosen.push_back(all[static_cast<size_t>(i)]);
    }
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

} // namespace

llvm::Expected<ProductRunner>
ProductRunner::create(const InterpreterOptions &options, const ScaledValue *lhs,
                      std::shared_ptr<const GroupMap> lhsGroups,
                      llvm::ArrayRef<ScaledValue> rhs,
                      std::shared_ptr<const GroupMap> rhsGroups) {
  ProductRunner runner;
  runner.options = &options;
  runner.firstRhs = rhs.data();
  auto check = [&](const ScaledValue &value) -> llvm::Error {
    // matmul_c5
    if (!value.type.isKMajor())
      return makeError("expected operands with blocks along K, but got axis " +
                       llvm::Twine(value.type.getAxis()));
    // matmul_c6
    if (lhs &&
        (value.type.getBlockSize() != lhs->type.getBlockSize() ||
         value.type.getScaleElementType() != lhs->type.getScaleElementType()))
      return makeError("expected operands of one block size and scale type, "
                       "but got " +
                       gsg::stringifyBlockFormat(lhs->type.getFormat()) +
                       " and " +
                       gsg::stringifyBlockFormat(value.type.getFormat()));
    return llvm::Error::success();
  };
  if (lhs) {
    if (llvm::Error error = check(*lhs))
      return error;
    llvm::Expected<ScaledAddress> left = ScaledAddress::create(
        lhs->type, lhs->scales.shape(), std::move(lhsGroups));
    if (!left)
      return left.takeError();
    runner.lhsAddress = std::move(*left);
  }
  for (const ScaledValue &value : rhs) {
    if (llvm::Error error = check(value))
      return error;
    llvm::Expected<ScaledAddress> address =
        ScaledAddress::create(value.type, value.scales.shape(), rhsGroups);
    if (!address)
      return address.takeError();
    runner.rhsAddresses.push_back(std::move(*address));
  }
  return runner;
}

llvm::Error ProductRunner::multiply(const Side &left, const Side &right,
                                    llvm::ArrayRef<int64_t> rows,
                                    llvm::ArrayRef<int64_t> columns,
                                    std::vector<Real> &out) {
  auto absolute = [](llvm::ArrayRef<int64_t> lines, int64_t first) {
    std::vector<int64_t> moved(lines.begin(), lines.end());
    for (int64_t &line : moved)
      line += first;
    return moved;
  };
  bool integral =
      !left.plain && left.value->type.isFP4() && right.value->type.isFP4();
  auto readLeft = [&]() -> llvm::Expected<Panel> {
    if (!left.plain)
      return decodePanel(*left.value, *lhsAddress, left.batch,
                         absolute(rows, left.first), left.group, integral);
    const Tensor &plain = *left.plain;
    int64_t perBatch = plain.dim(plain.rank() - 2);
    return readPlainPanel(plain,
                          absolute(rows, left.batch * perBatch + left.first),
                          left.plainColumns.begin, left.plainColumns.size,
                          right.value->type.getBlockSize());
  };
  llvm::Expected<Panel> a = readLeft();
  if (!a)
    return a.takeError();
  const ScaledAddress &address =
      rhsAddresses[static_cast<size_t>(right.value - firstRhs)];
  out.resize(rows.size() * columns.size());
  auto count = static_cast<int64_t>(columns.size());
  int64_t tiles = (count + kColumnTile - 1) / kColumnTile;
  std::atomic<int64_t> next{0};
  std::mutex mutex;
  std::optional<llvm::Error> failure;
  auto work = [&] {
    std::vector<Real> tile;
    for (int64_t t = next++; t < tiles; t = next++) {
      int64_t begin = t * kColumnTile;
      int64_t width = std::min(kColumnTile, count - begin);
      llvm::Expected<Panel> b =
          decodePanel(*right.value, address, right.batch,
                      absolute(columns.slice(static_cast<size_t>(begin),
                                             static_cast<size_t>(width)),
                               right.first),
                      right.group, integral);
      if (!b) {
        std::lock_guard<std::mutex> lock(mutex);
        if (failure)
          llvm::consumeError(b.takeError());
        else
          failure.emplace(b.takeError());
        next = tiles;
        return;
      }
      tile.resize(rows.size() * static_cast<size_t>(width));
      multiplyPanels(*a, *b, options->terms, tile);
      for (size_t m = 0; m < rows.size(); ++m)
        std::copy_n(tile.begin() + static_cast<int64_t>(m) * width, width,
                    out.begin() + static_cast<int64_t>(m) * count + begin);
    }
  };
  unsigned threads = options->threads != 0
                         ? options->threads
                         : std::max(1u, std::thread::hardware_concurrency());
  threads = static_cast<unsigned>(
      std::min<int64_t>(std::min(threads, 64u), std::max<int64_t>(tiles, 1)));
  // Small products are not worth a thread.
  if (static_cast<int64_t>(rows.size()) * count * address.length() < 1 << 20)
    threads = 1;
  std::vector<std::thread> pool;
  for (unsigned i = 1; i < threads; ++i)
    pool.emplace_back(work);
  work();
  for (std::thread &thread : pool)
    thread.join();
  return failure ? std::move(*failure) : llvm::Error::success();
}

llvm::Error ProductRunner::run(const Side &left, const Side &right,
                               const PairedColumns *pairs, RowFn row) {
  const SampleSpec &spec = options->sample;
  std::vector<int64_t> rows =
      sample(left.count, spec.maxRows,
             spec.seed + static_cast<uint64_t>(left.group) * 977);
  std::vector<int64_t> columns;
  if (pairs) {
    for (int64_t c : sample(static_cast<int64_t>(pairs->gate.size()),
                            spec.maxColumns, spec.seed ^ 0x5eed)) {
      columns.push_back(pairs->gate[static_cast<size_t>(c)]);
      columns.push_back(pairs->up[static_cast<size_t>(c)]);
    }
    std::sort(columns.begin(), columns.end());
  } else {
    columns = sample(right.count, spec.maxColumns, spec.seed ^ 0x5eed);
  }
  std::vector<Real> full(static_cast<size_t>(right.count), kLeftOut);
  auto width = static_cast<int64_t>(columns.size());
  int64_t chunk = std::max<int64_t>(1, kChunk / std::max<int64_t>(width, 1));
  std::vector<Real> out;
  int64_t m = 0;
  for (size_t begin = 0; begin < rows.size();
       begin += static_cast<size_t>(chunk)) {
    size_t size = std::min(static_cast<size_t>(chunk), rows.size() - begin);
    llvm::ArrayRef<int64_t> some(rows.data() + begin, size);
    if (llvm::Error error = multiply(left, right, some, columns, out))
      return error;
    for (size_t i = 0; i < size; ++i) {
      // Rows before the next one of the sample.
      std::fill(full.begin(), full.end(), kLeftOut);
      for (; m < some[i]; ++m)
        if (llvm::Error error = row(m, full))
          return error;
      for (int64_t n = 0; n < width; ++n)
        full[static_cast<size_t>(columns[static_cast<size_t>(n)])] =
            out[i * static_cast<size_t>(width) + static_cast<size_t>(n)];
      if (llvm::Error error = row(m++, full))
        return error;
    }
  }
  std::fill(full.begin(), full.end(), kLeftOut);
  for (; m < left.count; ++m)
    if (llvm::Error error = row(m, full))
      return error;
  return llvm::Error::success();
}

} // namespace nvfp4::reference
