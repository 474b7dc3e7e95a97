//===- Report.h - what a run tells its user ---------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A report is one finding: its kind, the instruction, the threads, and for
// conflicts the other access. Findings at the same pair of instructions are
// counted, not repeated.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_MACHINE_REPORT_H
#define NVFP4_SIMULATOR_MACHINE_REPORT_H

#include "nvfp4/Simulator/Decode/Kernel.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nvfp4::sim {

/// Kinds of findings; `reportKindName` gives the spelling used in output.
enum class ReportKind : uint8_t {
  DataRace,
  MissingProxyFence,
  MissingTcgen05Fence,
  UnwaitedTmemLoad,
  MissingTensorMapFence,
  MissingMbarrierInitFence,
  MbarrierMisuse,
  Deadlock,
  Livelock,
  InstructionLimit,
  TmemAllocation,
  TmemLane,
  TmemLeak,
  UninitializedRead,
  OutOfBounds,
  Misaligned,
  IllegalDescriptor,
  MixedCtaGroup,
  ExitedCta,
  IllegalOperand,
  IllegalLaunch,
  Unsupported,
  Trap,
  Lint,
};

/// For example "data-race".
std::string_view reportKindName(ReportKind kind);

/// Findings that are wanted to be left out: of a kind, at a line of the PTX or
/// (0) anywhere.
struct IgnoredFinding {
  ReportKind kind = ReportKind::Lint;
  uint32_t line = 0;
};

/// One finding.
struct Report {
  ReportKind kind = ReportKind::DataRace;
  std::string message;
  /// Instruction index, or noPc when no instruction is to blame.
  uint32_t pc = noPc;
  /// The other access of a conflict, or noPc; null is the same kernel.
  uint32_t otherPc = noPc;
  const Kernel *otherKernel = nullptr;
  /// "cta (0,0,0) warp 3 lane 5" or the like; may be empty.
  std::string where;
  std::string otherWhere;
  /// How often the finding was made.
  uint64_t count = 1;
};

/// The findings of one run.
class ReportList {
public:
  /// Adds a report, or counts it when one of the same kind at the same
  /// instructions exists.
  void add(Report report);
  const std::vector<Report> &all() const { return reports; }
  bool empty() const { return reports.empty(); }
  /// Text of all reports with PTX lines and, when known, source lines.
  std::string str(const Kernel &kernel) const;

private:
  std::vector<Report> reports;
};

/// The kind of that spelling.
std::optional<ReportKind> parseReportKind(std::string_view name);

/// Whether all findings of a kind end the run, so that there is nothing behind
/// them that could be looked at.
bool alwaysEndsRun(ReportKind kind);

/// A symbol as its source has it: C++ names are demangled, and arguments of
/// templates left out where they make the name long.
std::string readableName(const std::string &symbol);

/// "file.ptx:12 (kernel.py:40)" for an instruction of `kernel`.
std::string describePlace(const Kernel &kernel, uint32_t pc);

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_MACHINE_REPORT_H
