//===- Report.cpp - what a run tells its user -------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names, de-duplication and text of findings.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Machine/Report.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cxxabi.h>
#include <iterator>

namespace nvfp4::sim {

static constexpr std::string_view kindNames[] = {
    "data-race",
    "missing-proxy-fence",
    "missing-tcgen05-fence",
    "unwaited-tmem-load",
    "missing-tensormap-fence",
    "missing-mbarrier-init-fence",
    "mbarrier-misuse",
    "deadlock",
    "livelock",
    "instruction-limit",
    "tmem-allocation",
    "tmem-lane",
    "tmem-leak",
    "uninitialized-read",
    "out-of-bounds",
    "misaligned",
    "illegal-descriptor",
    "mixed-cta-group",
    "exited-cta",
    "illegal-operand",
    "illegal-launch",
    "unsupported",
    "trap",
    "lint",
};
static_assert(std::size(kindNames) ==
              static_cast<size_t>(ReportKind::Lint) + 1);

std::string_view reportKindName(ReportKind kind) {
  return kindNames[static_cast<size_t>(kind)];
}

std::optional<ReportKind> parseReportKind(std::string_view name) {
  const auto *found =
      std::find(std::begin(kindNames), std::end(kindNames), name);
  if (found == std::end(kindNames))
    return std::nullopt;
  return static_cast<ReportKind>(found - kindNames);
}

bool alwaysEndsRun(ReportKind kind) {
  switch (kind) {
  case ReportKind::Deadlock:
  case ReportKind::Livelock:
  case ReportKind::InstructionLimit:
  case ReportKind::TmemAllocation:
  case ReportKind::TmemLane:
  case ReportKind::OutOfBounds:
  case ReportKind::Misaligned:
  case ReportKind::IllegalDescriptor:
  case ReportKind::MixedCtaGroup:
  case ReportKind::IllegalOperand:
  case ReportKind::IllegalLaunch:
  case ReportKind::Unsupported:
  case ReportKind::Trap:
    return true;
  default:
    return false;
  }
}

/// The nested name that a mangled one begins with, where the library does not
/// demangle the rest: it gives up on some long lists of template arguments.
static std::string outerName(const std::string &symbol) {
  std::string name;
  size_t at = symbol[2] == 'N' ? 3 : 2;
  while (at < symbol.size() && std::isdigit(symbol[at])) {
    size_t digits = 0;
    size_t length = std::stoul(symbol.substr(at, 6), &digits);
    size_t begin = at + digits;
    if (begin + length > symbol.size())
      break;
    name += (name.empty() ? "" : "::") + symbol.substr(begin, length);
    at = begin + length;
  }
  if (name.empty())
    return symbol;
  return at < symbol.size() && symbol[at] == 'I' ? name + "<...>" : name;
}

std::string readableName(const std::string &symbol) {
  if (symbol.rfind("_Z", 0) != 0) // what else looks like a type is none
    return symbol;
  int status = 0;
  char *text = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  if (status != 0)
    return outerName(symbol);
  std::string name = text;
  std::free(text);
  constexpr size_t most = 160;
  if (name.size() <= most)
    return name;
  std::string outer;
  unsigned depth = 0;
  for (char c : name) {
    depth -= c == '>' && depth > 0;
    if (depth == 0)
      outer += c;
    if (c == '<' && depth++ == 0)
      outer += "...";
  }
  return outer;
}

void ReportList::add(Report report) {
  for (Report &known : reports) {
    if (known.kind == report.kind && known.pc == report.pc &&
        known.otherPc == report.otherPc &&
        known.otherKernel == report.otherKernel && report.pc != noPc) {
      ++known.count;
      return;
    }
  }
  constexpr size_t most = 256;
  if (reports.size() < most)
    reports.push_back(std::move(report));
}

std::string describePlace(const Kernel &kernel, uint32_t pc) {
  if (pc >= kernel.info.size())
    return readableName(kernel.name);
  const InstInfo &info = kernel.info[pc];
  std::string text =
      kernel.module->fileName + ":" + std::to_string(info.location.line);
  const std::vector<std::string> &files = kernel.module->files;
  if (info.line.file > 0 && info.line.file < files.size() && info.line.line)
    text += " (" + files[info.line.file] + ":" +
            std::to_string(info.line.line) + ")";
  return text + " " + info.name;
}

std::string ReportList::str(const Kernel &kernel) const {
  std::string text;
  for (const Report &report : reports) {
    text += std::string(reportKindName(report.kind)) + ": " + report.message;
    if (report.count > 1)
      text += " (" + std::to_string(report.count) + " times)";
    text += "\n";
    if (report.pc != noPc)
      text += "  at " + describePlace(kernel, report.pc) +
              (report.where.empty() ? "" : ", " + report.where) + "\n";
    if (report.otherPc != noPc)
      text += "  and " +
              describePlace(report.otherKernel ? *report.otherKernel : kernel,
                            report.otherPc) +
              (report.otherWhere.empty() ? "" : ", " + report.otherWhere) +
              "\n";
  }
  return text;
}

} // namespace nvfp4::sim
