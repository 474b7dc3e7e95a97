//===- RunOptions.cpp - run options as text ---------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function for choices, one for numbers. An unknown name is answered with
// the one of the fewest edits.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/RunOptions.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <vector>

namespace nvfp4::sim {
namespace {

constexpr const char *flags[] = {"--check", "--bank-conflicts", "--cycles"};
constexpr const char *withValue[] = {
    "--seed",   "--profile",      "--delays", "--max-delay",
    "--costs",  "--accumulation", "--sms",    "--max-instructions",
    "--ignore", "--max-idle"};

/// How many letters have to be put in, taken out or changed.
size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row.back();
}

template <typename T> bool parseNumber(const std::string &text, T &value) {
  const char *end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end;
}

/// KIND or KIND@LINE, several with commas.
std::string addIgnored(const std::string &list, RunOptions &options) {
  for (size_t begin = 0; begin <= list.size();) {
    size_t end = std::min(list.find(',', begin), list.size());
    std::string item = list.substr(begin, end - begin);
    begin = end + 1;
    size_t at = item.find('@');
    std::optional<ReportKind> kind = parseReportKind(item.substr(0, at));
    if (!kind)
      return badOptionValue("--ignore", item,
                            "a kind of finding such as data-race or "
                            "data-race@123, with a line of the PTX,");
    if (alwaysEndsRun(*kind))
      return badOptionValue("--ignore", item,
                            "a kind of finding that does not end the run");
    IgnoredFinding ignored{*kind};
    if (at != std::string::npos &&
        (!parseNumber(item.substr(at + 1), ignored.line) || !ignored.line))
      return badOptionValue("--ignore", item, "a line of the PTX behind the @");
    options.ignored.push_back(ignored);
  }
  return {};
}

std::string setChoice(const std::string &name, const std::string &value,
                      RunOptions &options) {
  if (name == "--profile") {
    if (value != "strict" && value != "cutlass")
      return badOptionValue(name, value, "strict or cutlass");
    options.profile =
        value == "strict" ? CheckProfile::Strict : CheckProfile::Cutlass;
  } else if (name == "--delays") {
    if (value == "uniform")
      options.delays = DelayMode::Uniform;
    else if (value == "adversarial")
      options.delays = DelayMode::Adversarial;
    else if (value == "immediate")
      options.delays = DelayMode::Immediate;
    else
      return badOptionValue(name, value, "uniform, adversarial or immediate");
  } else {
    if (value == "aligned")
      options.accumulation = Accumulation::Aligned;
    else if (value == "f32")
      options.accumulation = Accumulation::SequentialF32;
    else if (value == "f64")
      options.accumulation = Accumulation::F64;
    else
      return badOptionValue(name, value, "aligned, f32 or f64");
  }
  return {};
}

} // namespace

std::string badOptionValue(const std::string &name, const std::string &value,
                           const std::string &expected) {
  return "expected " + expected + " for " + name + ", but got '" + value + "'";
}

std::string unknownOption(const std::string &name,
                          std::initializer_list<const char *> others) {
  std::vector<std::string> known(std::begin(flags), std::end(flags));
  known.insert(known.end(), std::begin(withValue), std::end(withValue));
  known.insert(known.end(), others.begin(), others.end());
  auto distance = [&](const std::string &option) {
    return editDistance(name, option);
  };
  std::string nearest = *std::min_element(
      known.begin(), known.end(),
      [&](const auto &a, const auto &b) { return distance(a) < distance(b); });
  std::string text = "unknown option '" + name + "' (";
  // Where more than two letters of five differ nothing was mistyped.
  if (distance(nearest) * 5 <= name.size() * 2)
    return text + "nearest: " + nearest + ")";
  for (const std::string &option : known)
    text += (&option == &known.front() ? "expected " : ", ") + option;
  return text + ")";
}

std::string checkTogether(const std::set<std::string> &names) {
  for (const char *name : {"--delays", "--max-delay"})
    if (names.count("--cycles") && names.count(name))
      return "expected --cycles, whose model says how long events take, "
             "without " +
             std::string(name);
  if (names.count("--costs") && !names.count("--cycles"))
    return "expected --cycles with --costs, which are the costs of its model";
  return {};
}

RunOptionKind runOptionKind(const std::string &name) {
  auto isIn = [&](const auto &names) {
    return std::find(std::begin(names), std::end(names), name) !=
           std::end(names);
  };
  return isIn(flags)       ? RunOptionKind::Flag
         : isIn(withValue) ? RunOptionKind::Value
                           : RunOptionKind::Unknown;
}

std::string setRunOption(const std::string &name, const std::string &value,
                         RunOptions &options) {
  if (runOptionKind(name) == RunOptionKind::Flag && !value.empty())
    return badOptionValue(name, value, "no value");
  if (name == "--check" || name == "--bank-conflicts") {
    (name == "--check" ? options.check : options.lintBankConflicts) = true;
    return {};
  }
  if (name == "--cycles") {
    options.delays = DelayMode::Cycles;
    return {};
  }
  if (name == "--ignore")
    return addIgnored(value, options);
  if (name == "--costs") {
    std::string problem = options.costs.set(value);
    return problem.empty() ? problem : problem + " in --costs";
  }
  if (name == "--profile" || name == "--delays" || name == "--accumulation")
    return setChoice(name, value, options);
  bool ok = name == "--seed"        ? parseNumber(value, options.seed)
            : name == "--max-delay" ? parseNumber(value, options.maximumDelay)
            : name == "--sms"       ? parseNumber(value, options.residentCtas)
            : name == "--max-idle"  ? parseNumber(value, options.progressLimit)
            : name == "--max-instructions"
                ? parseNumber(value, options.maximumInstructions)
                : false;
  // No GPU has as many, and blocks that are resident at once take memory.
  constexpr uint32_t maximumSms = 4096;
  if (name == "--sms" &&
      (!ok || options.residentCtas == 0 || options.residentCtas > maximumSms))
    return badOptionValue(name, value,
                          "a number from 1 to " + std::to_string(maximumSms));
  if (!ok)
    return badOptionValue(name, value,
                          "a number from 0 to 18446744073709551615");
  return {};
}

} // namespace nvfp4::sim
