//===- WholeCore.cpp - Measuring while cores are not shared -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WholeCore.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <limits>
#include <thread>
#include <vector>

using namespace nvfp4;

namespace {
/// Below this part of the most nops a cycle that were seen a core is shared:
/// with both of its threads busy it is about a half.
constexpr double kWhole = 0.9;

/// A variable of the environment.
double getNumber(const char *name, double otherwise) {
  const char *text = std::getenv(name);
  return text ? std::strtod(text, nullptr) : otherwise;
}

double wallSeconds() {
  std::chrono::duration<double> time =
      std::chrono::steady_clock::now().time_since_epoch();
  return time.count();
}

/// Of the calling thread, which others on this system do not take away.
double cpuSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * time.tv_nsec;
}

template <typename Run> double shortestOf3(Run run) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i) {
    double start = cpuSeconds();
    run();
    best = std::min(best, cpuSeconds() - start);
  }
  return best;
}

/// Nops that this core now starts in the time of one multiplication in a chain,
/// a few cycles on every CPU. Takes some 40 microseconds.
double countNops() {
#ifdef __x86_64__
  constexpr long kRounds = 400;
  double chain = shortestOf3([] {
    long rounds = kRounds;
    asm volatile("1: .rept 16\n imul %%rax, %%rax\n .endr\n dec %0\n jnz 1b"
                 : "+r"(rounds)
                 :
                 : "rax", "cc");
  });
  double nops = shortestOf3([] {
    long rounds = kRounds;
    asm volatile("1: .rept 126\n nop\n .endr\n dec %0\n jnz 1b"
                 : "+r"(rounds)
                 :
                 : "cc");
  });
  return chain / 16 / (nops / 128);
#else
  return 1;
#endif
}

/// What a whole core does for all that was seen so far, at least
/// NVFP4_BENCHMARK_NOPS, which an earlier program saw. Single counts may be
/// anything, so a count is taken for true if a fifth of some 50 one after the
/// other reach it.
class WholeCount {
public:
  void see(double count) {
    latest.push_back(count);
    if (latest.size() < 50)
      return;
    std::nth_element(latest.begin(), latest.begin() + 10, latest.end(),
                     std::greater<>());
    most = std::max(most, latest[10]);
    latest.clear();
  }
  double get() const { return most; }

private:
  std::vector<double> latest;
  double most = getNumber("NVFP4_BENCHMARK_NOPS", 0);
};

WholeCount &getWholeCount() {
  static WholeCount count = [] {
    WholeCount result;
    for (int i = 0; i < 2000; ++i)
      result.see(countNops());
    return result;
  }();
  return count;
}

/// Whether the cores of as many threads are whole; where more than one, cores
/// that are free now, which need not be those that `run` is about to use.
bool areWhole(int threads) {
  WholeCount &wholeCount = getWholeCount();
  std::vector<double> counts(threads);
  std::atomic<int> waiting = threads;
  auto probe = [&](int thread) {
    // All at once, so that each has a processor of its own.
    --waiting;
    while (waiting > 0)
      ;
    counts[thread] = countNops();
  };
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads; ++thread)
    others.emplace_back(probe, thread);
  probe(0);
  for (std::thread &other : others)
    other.join();
  for (double count : counts)
    wholeCount.see(count);
  return *std::min_element(counts.begin(), counts.end()) >=
         kWhole * wholeCount.get();
}
} // namespace

void bench::measure(benchmark::State &state, int threads,
                    const std::function<void()> &run) {
  double patience = getNumber("NVFP4_BENCHMARK_PATIENCE", 2);
  // True if they were, false if there is no patience left.
  auto wait = [&] {
    double start = wallSeconds();
    bool whole = areWhole(threads);
    while (!whole && wallSeconds() - start < patience)
      whole = areWhole(threads);
    patience -= wallSeconds() - start;
    return whole;
  };
  [[maybe_unused]] int64_t iterations = 0, whole = 0;
  for (auto _ : state) {
    while (true) {
      bool before = wait();
      double wall = wallSeconds(), cpu = cpuSeconds();
      run();
      cpu = cpuSeconds() - cpu;
      wall = wallSeconds() - wall;
      bool isWhole = before && areWhole(threads);
      if (!isWhole && patience > 0) {
        patience -= wall;
        continue;
      }
      state.SetIterationTime(threads == 1 ? cpu : wall);
      ++iterations;
      whole += isWhole;
      break;
    }
  }
#ifdef __x86_64__
  state.counters["whole"] =
      static_cast<double>(whole) / static_cast<double>(iterations);
  state.counters["nops"] = getWholeCount().get();
#endif
}
