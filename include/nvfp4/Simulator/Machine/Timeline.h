//===- Timeline.h - what happened when, as a picture ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collects when warps ran and waited, when asynchronous operations were in
// flight and when phases of mbarriers completed, and draws them as SVG: one
// block for each CTA.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_MACHINE_TIMELINE_H
#define NVFP4_SIMULATOR_MACHINE_TIMELINE_H

#include "nvfp4/Simulator/Machine/Warp.h"

#include <array>
#include <map>
#include <ostream>
#include <string>
#include <vector>

namespace nvfp4::sim {

/// Everything is in ticks of the machine's clock, which counts warp
/// instructions: the picture shows order and overlap, not speed.
class Timeline {
public:
  /// Only the first `maximumCtas` CTAs that start are followed, and so many
  /// spans are kept for all of them together.
  explicit Timeline(unsigned maximumCtas = 8, size_t maximumSpans = 50'000)
      : maximumCtas(maximumCtas), maximumSpans(maximumSpans) {}

  /// The warp is about to run, or has run until `now`; then it may wait.
  void warpRuns(const Warp &warp, uint64_t now);
  void warpStops(const Warp &warp, uint64_t now);
  /// A warp starts an asynchronous operation at its current instruction; the
  /// next call of `operationEnds` says when that will be complete.
  void operationBegins(const Warp &warp, uint64_t now);
  void operationEnds(uint64_t time);
  /// The mbarrier at `offset` completes a phase.
  void phaseCompletes(const Cta &cta, uint32_t offset, uint64_t phase,
                      uint64_t now);

  /// Draws everything since the last call. Launches follow each other.
  void finish(const Kernel &kernel, uint64_t now);
  /// Writes the SVG with all launches.
  void write(std::ostream &out) const;

private:
  struct Span {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint32_t pc = noPc;
    WaitKind wait = WaitKind::None;
    uint64_t detail = 0;
  };
  struct Row {
    std::vector<Span> active, waiting;
    bool open = false;
    Span current;
  };
  struct CtaRows {
    unsigned rank = 0;
    std::array<uint32_t, 3> cluster{};
    std::map<unsigned, Row> warps;
    std::vector<Span> operations;
    /// By offset: when phases completed.
    std::map<uint32_t, std::vector<Span>> barriers;
  };

  CtaRows *find(const Cta &cta);
  bool room();
  void drawCta(const Kernel &kernel, const std::array<uint32_t, 3> &id,
               const CtaRows &rows, uint64_t end);
  void drawOperations(const Kernel &kernel, const std::vector<Span> &spans);
  void label(const std::string &text);
  void bar(const Span &span, const char *colour, double y, double height,
           const std::string &title);

  unsigned maximumCtas;
  size_t maximumSpans;
  size_t spans = 0;
  bool truncated = false;
  std::map<std::array<uint32_t, 3>, CtaRows> ctas;
  CtaRows *pendingCta = nullptr;
  Span pending;
  // The picture so far.
  std::string body;
  double top = 60;
  double scale = 1;
};

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_MACHINE_TIMELINE_H
