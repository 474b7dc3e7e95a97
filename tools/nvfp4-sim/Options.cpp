//===- Options.cpp - command line of nvfp4-sim ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Options are `--name value` or `--name=value`.
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "nvfp4/Simulator/Machine/Memory.h"
#include "nvfp4/Simulator/RunOptions.h"

#include <charconv>
#include <set>

namespace nvfp4::simtool {

const char *usage() {
  return R"(usage: nvfp4-sim KERNEL.ptx [options]
       nvfp4-sim exec [options] PROGRAM [arguments]

Runs a PTX kernel on the CPU and reports what hardware would hide.

  --kernel NAME         kernel to run; the only one by default
  --list                list the kernels and their parameters
  --grid X[,Y[,Z]]      CTAs (default 1)
  --block X[,Y[,Z]]     threads of a CTA (default .reqntid)
  --cluster X[,Y[,Z]]   CTAs of a cluster (default .reqnctapercluster or 1)
  --shared BYTES        dynamic shared memory
  --args A,B,...        one item for each kernel parameter:
      file.npy                     pointer to the array
      inout:in.npy>out.npy         the same, written to out.npy afterwards
      out:file.npy=f32[128x64]     pointer to new memory, written afterwards
      zero:file.npy=f32[128x64]    the same, filled with zeros first
      i8:7 u8:7 i16:7 u16:7 i32:7 u32:7 i64:7 u64:7 f32:1.5 f64:1.5
      bytes:00ff                   these bytes
      struct(i32:7,f32:1.5,a.npy)  a structure by value: items laid out as in C
      peers(ARRAY) peers(ARRAY;COUNT)
                                   pointers to the array on each device, and
                                   null up to a count
      tensormap(ARRAY;box=64x128;swizzle=128B;dims=...;strides=...;type=...)
                                   a tensor map; dimensions innermost first
      {rank} and {devices} in the text are the number of the device and how
      many there are: u32:{rank}, out:c{rank}.npy=f32[16]
  --devices N           devices, from 1 to 8, that run the kernel at the same
                        time and reach each other's memory (default 1)
  --seed N              seed of the first run (default 1)
  --seeds N             run N seeds; results must be the same for all
  --explore N           run every schedule of a small program instead, with the
                        checker on: N schedules at most
  --allow-differences   results may depend on the seed
  --check               happens-before checker
  --profile strict|cutlass
  --ignore KIND[@LINE],...
                        findings that are not reported, of a kind such as
                        data-race, at a line of the PTX or anywhere; not what
                        ends the run
  --bank-conflicts      report loads and stores that meet in shared-memory banks
  --delays uniform|adversarial|immediate
  --cycles              costs of a model instead of random delays; prints how
                        many cycles the kernel takes by it
  --costs NAME=N,...    other numbers for that model: instruction, wake,
                        turnaround, copy-bytes, copy-latency, tensor-memory,
                        tensor-copy, mma-tail, mma-pair-tail, link-bytes,
                        link-latency
  --max-delay N         longest delay in warp instructions (default 3000)
  --accumulation aligned|f32|f64
  --sms N               CTAs resident at once (default 148)
  --max-instructions N  limit of warp instructions
  --max-idle N          warp instructions without a store, arrival or completion
                        after which a kernel counts as hung (default 20000000)
  --trace FILE          one line for each warp instruction
  --timeline FILE.svg   a picture of the first run: warps, copies, tensor core,
                        barriers of the first 8 CTAs
  --stats               print counters of each run

Exit status: 0 clean, 1 findings or errors of the program, 2 misuse. Outputs are
written unless a fault has ended the run.
)";
}

namespace {

template <typename T> bool parseNumber(const std::string &text, T &value) {
  const char *end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end;
}

/// What the machine allows.
std::string limitOf(const std::string &name) {
  return name == "--grid"    ? "at most 2^24 CTAs, 65535 along Y and Z"
         : name == "--block" ? "at most 1024 threads"
                             : "at most 16 CTAs";
}

std::string setValue(const std::string &name, const std::string &value,
                     Options &options) {
  if (name == "--kernel")
    options.kernel = value;
  else if (name == "--args")
    options.arguments = value;
  else if (name == "--trace")
    options.traceFile = value;
  else if (name == "--timeline")
    options.timelineFile = value;
  else if (name == "--grid" || name == "--block" || name == "--cluster") {
    auto &target = name == "--grid"    ? options.launch.grid
                   : name == "--block" ? options.launch.block
                                       : options.launch.cluster;
    if (!parseDimensions(value, target) || !target[0] || !target[1] ||
        !target[2])
      return sim::badOptionValue(name, value,
                                 "one to three numbers of at least 1, such as "
                                 "4 or 4,2,1 (" +
                                     limitOf(name) + ")");
    options.blockGiven |= name == "--block";
  } else {
    if (name == "--shared" && !parseNumber(value, options.launch.dynamicShared))
      return sim::badOptionValue(name, value, "a number of bytes up to 232448");
    if (name == "--seeds" &&
        (!parseNumber(value, options.seeds) || options.seeds == 0))
      return sim::badOptionValue(name, value, "a number from 1 to 4294967295");
    if (name == "--explore" &&
        (!parseNumber(value, options.schedules) || options.schedules == 0))
      return sim::badOptionValue(name, value,
                                 "a number from 1 to 18446744073709551615");
    if (name == "--devices" &&
        (!parseNumber(value, options.devices) || options.devices == 0 ||
         options.devices > sim::deviceLimit))
      return sim::badOptionValue(name, value,
                                 "a number from 1 to " +
                                     std::to_string(sim::deviceLimit));
  }
  return {};
}

} // namespace

bool parseDimensions(const std::string &text,
                     std::array<uint32_t, 3> &dimensions) {
  dimensions = {1, 1, 1};
  size_t begin = 0;
  for (uint32_t &dimension : dimensions) {
    size_t end = text.find_first_of(",x", begin);
    if (!parseNumber(text.substr(begin, end - begin), dimension))
      return false;
    if (end == std::string::npos)
      return true;
    begin = end + 1;
  }
  return false;
}

std::string parseOptions(int argc, char **argv, Options &options) {
  static constexpr const char *withValue[] = {
      "--kernel",  "--args",   "--trace", "--timeline", "--grid",   "--block",
      "--cluster", "--shared", "--seeds", "--devices",  "--explore"};
  std::set<std::string> given;
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    if (name.rfind("--", 0) != 0) {
      if (!options.ptxFile.empty())
        return "expected one PTX file, but got '" + options.ptxFile +
               "' and '" + name + "'";
      options.ptxFile = name;
      continue;
    }
    std::string value;
    size_t equals = name.find('=');
    bool inlineValue = equals != std::string::npos;
    if (inlineValue) {
      value = name.substr(equals + 1);
      name.resize(equals);
    }
    sim::RunOptionKind kind = sim::runOptionKind(name);
    bool ofTool = false;
    for (const char *candidate : withValue)
      ofTool |= name == candidate;
    if (ofTool || kind == sim::RunOptionKind::Value) {
      if (!inlineValue && ++i >= argc)
        return "expected a value after " + name;
      if (!inlineValue)
        value = argv[i];
      std::string error = ofTool ? setValue(name, value, options)
                                 : sim::setRunOption(name, value, options.run);
      if (!error.empty())
        return error;
    } else if (kind == sim::RunOptionKind::Flag) {
      if (std::string error = sim::setRunOption(name, value, options.run);
          !error.empty())
        return error;
    } else {
      if (name == "--list")
        options.list = true;
      else if (name == "--stats")
        options.statistics = true;
      else if (name == "--allow-differences")
        options.allowDifferences = true;
      else if (name == "--help")
        options.help = true;
      else
        return sim::unknownOption(
            name,
            {"--list", "--stats", "--allow-differences", "--help", "--kernel",
             "--args", "--trace", "--timeline", "--grid", "--block",
             "--cluster", "--shared", "--seeds", "--devices", "--explore"});
      if (inlineValue)
        return "expected no value for " + name + ", but got '" + value + "'";
    }
    given.insert(name);
  }
  if (std::string error = sim::checkTogether(given); !error.empty())
    return error;
  for (const char *name :
       {"--seed", "--seeds", "--delays", "--max-delay", "--cycles"})
    if (given.count("--explore") && given.count(name))
      return "expected --explore, which has all schedules, without " +
             std::string(name);
  if (options.ptxFile.empty() && !options.help)
    return "expected a PTX file";
  return {};
}

} // namespace nvfp4::simtool
