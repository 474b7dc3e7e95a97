//===- Progress.cpp - Signs of life of long steps ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Progress.h. A thread sleeps until the step ends or a message is due.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Tools/Progress.h"

#include <cstdio>

using namespace nvfp4::tools;

/// "12.3 s".
static std::string format(Progress::Seconds elapsed) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f s", elapsed.count());
  return text;
}

Progress::Progress(const Report &report, std::string what, Seconds first,
                   Seconds interval)
    : report(report), what(std::move(what)),
      start(std::chrono::steady_clock::now()),
      watcher([this, first, interval] { watch(first, interval); }) {}

Progress::~Progress() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isDone = true;
  }
  ended.notify_one();
  watcher.join();
  if (hasSpoken)
    report(what + ": took " + format(std::chrono::steady_clock::now() - start));
}

void Progress::watch(Seconds first, Seconds interval) {
  std::unique_lock<std::mutex> lock(mutex);
  for (Seconds due = first;; due += interval) {
    auto when =
        start +
        std::chrono::duration_cast<std::chrono::steady_clock::duration>(due);
    if (ended.wait_until(lock, when, [this] { return isDone; }))
      return;
    report(what + " ... " + format(std::chrono::steady_clock::now() - start));
    hasSpoken = true;
  }
}
