//===- Exec.cpp - nvfp4-sim exec --------------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The program starts unchanged. LD_LIBRARY_PATH puts the stand-ins first,
// NVFP4_SIM_OPTIONS carries the options, and the stand-ins leave marks in a
// file that NVFP4_SIM_FINDINGS names: `k` a kernel has run, `f` there were
// findings, `w` a file could not be written.
//
//===----------------------------------------------------------------------===//

#include "Exec.h"

#include "nvfp4/Simulator/RunOptions.h"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace nvfp4::simtool {
namespace {

constexpr const char *execUsage =
    R"(usage: nvfp4-sim exec [options] [--] PROGRAM [arguments]

Runs an unmodified CUDA program with its kernels on the simulator. The program
must use the shared runtime library (nvcc -cudart shared) or the driver API, and
hold PTX (nvcc -gencode arch=compute_100a,code=compute_100a).

  --arch sm_100a|sm_90a the pretended device; by default one that runs the PTX
  --devices N           how many devices there are, from 1 to 8 (default 1)
  --seeds N             run the program N times, each with another seed
  --stats               print counters of each launch
  --trace FILE          one line for each warp instruction
  --timeline FILE.svg   a picture of every launch
  --save-ptx FOLDER     write the PTX that is loaded there; reports name lines
  --seed, --check, --profile, --ignore, --delays, --cycles, --costs, --max-delay,
  --accumulation, --sms (default 8), --max-instructions and --max-idle as for
  kernels: see nvfp4-sim --help

Exit status: that of the program where it is not 0; 1 when there were findings,
or when no kernel was launched, so that nothing was checked; 2 misuse, or a file that
could not be written.
)";

int misuse(const std::string &message) {
  std::fprintf(stderr, "nvfp4-sim: error: %s (see nvfp4-sim exec --help)\n",
               message.c_str());
  return 2;
}

/// Where the stand-ins are: next to this executable's folder.
std::filesystem::path standIns() {
  std::error_code error;
  std::filesystem::path self =
      std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  for (const char *library : {"../lib/nvfp4-sim", "../" NVFP4_SIM_LIBDIR}) {
    std::filesystem::path folder = self / library;
    if (std::filesystem::exists(folder / "libcuda.so.1", error))
      return std::filesystem::canonical(folder, error);
  }
  return {};
}

/// The marks of all runs so far.
std::string marksIn(const std::string &file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Starts the program and waits for it; the exit status as a shell gives it.
int runOnce(char **command) {
  pid_t child = fork();
  if (child == 0) {
    execvp(command[0], command);
    std::fprintf(stderr, "nvfp4-sim: error: cannot run '%s'\n", command[0]);
    _exit(127);
  }
  if (child < 0)
    return misuse("cannot start a process");
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return misuse("cannot wait for the process");
  if (!WIFSIGNALED(status))
    return WEXITSTATUS(status);
  std::fprintf(stderr, "nvfp4-sim: '%s' ended by signal %d\n", command[0],
               WTERMSIG(status));
  return 128 + WTERMSIG(status);
}

/// What the command line asks for.
struct ExecOptions {
  std::string passed = "--sms 8";
  unsigned seeds = 1;
  uint64_t seed = 1;
  bool help = false;
  /// Index of the program.
  int program = 0;
};

std::string parse(int argc, char **argv, ExecOptions &options) {
  std::set<std::string> given;
  int i = 0;
  for (; i < argc; ++i) {
    std::string name = argv[i];
    if (name == "--") {
      ++i;
      break;
    }
    if (name.rfind("--", 0) != 0)
      break;
    if (name == "--help") {
      options.help = true;
      return {};
    }
    std::string value;
    size_t equals = name.find('=');
    std::string flag = name.substr(0, equals);
    if (flag == "--stats" ||
        sim::runOptionKind(flag) == sim::RunOptionKind::Flag) {
      if (equals != std::string::npos)
        return sim::badOptionValue(flag, name.substr(equals + 1), "no value");
      given.insert(flag);
      options.passed += " " + flag;
      continue;
    }
    if (sim::runOptionKind(flag) == sim::RunOptionKind::Unknown &&
        flag != "--seeds" && flag != "--trace" && flag != "--timeline" &&
        flag != "--save-ptx" && flag != "--arch" && flag != "--devices")
      return sim::unknownOption(flag, {"--seeds", "--trace", "--timeline",
                                       "--save-ptx", "--arch", "--devices",
                                       "--stats", "--help"});
    if (equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
    } else if (++i < argc) {
      value = argv[i];
    } else {
      return "expected a value after " + name;
    }
    given.insert(name);
    if (name == "--seeds") {
      const char *end = value.data() + value.size();
      auto [stop, error] = std::from_chars(value.data(), end, options.seeds);
      if (error != std::errc() || stop != end || options.seeds == 0)
        return sim::badOptionValue(name, value,
                                   "a number from 1 to 4294967295");
      continue;
    }
    // What the stand-ins would refuse is refused here already.
    sim::RunOptions check;
    if (sim::runOptionKind(name) == sim::RunOptionKind::Value) {
      std::string error = sim::setRunOption(name, value, check);
      if (!error.empty())
        return error;
      if (name == "--seed") {
        options.seed = check.seed;
        continue;
      }
    } else if (name == "--trace" || name == "--timeline" ||
               name == "--save-ptx") {
      std::error_code ignored;
      value = std::filesystem::absolute(value, ignored).string();
      if (name == "--save-ptx" ? !std::filesystem::is_directory(value, ignored)
                               : !std::ofstream(value))
        return "cannot write '" + value + "' of " + name;
    } else if (name == "--devices") {
      if (value.size() != 1 || value[0] < '1' || value[0] > '8')
        return sim::badOptionValue(name, value, "a number from 1 to 8");
    } else if (value != "sm_100a" && value != "sm_90a") {
      return sim::badOptionValue(name, value, "sm_100a or sm_90a");
    }
    if (value.empty() || value.find_first_of(" \t\n") != std::string::npos)
      return sim::badOptionValue(name, value, "a value without spaces");
    options.passed += " " + name + " " + value;
  }
  options.program = i;
  return i < argc ? sim::checkTogether(given) : "expected a program";
}

} // namespace

int runExec(int argc, char **argv) {
  ExecOptions options;
  std::string error = parse(argc, argv, options);
  if (!error.empty())
    return misuse(error);
  if (options.help) {
    std::fputs(execUsage, stdout);
    return 0;
  }
  std::filesystem::path folder = standIns();
  if (folder.empty())
    return misuse("the folder nvfp4-sim with the stand-in libraries is not "
                  "installed next to this tool");
  std::string path = folder.string();
  if (const char *before = std::getenv("LD_LIBRARY_PATH"); before && *before)
    path += ":" + std::string(before);
  setenv("LD_LIBRARY_PATH", path.c_str(), 1);
  std::string findings =
      (std::filesystem::temp_directory_path() / "nvfp4-sim-XXXXXX").string();
  int file = mkstemp(findings.data());
  if (file < 0)
    return misuse("cannot make a temporary file");
  close(file);
  setenv("NVFP4_SIM_FINDINGS", findings.c_str(), 1);

  int status = 0;
  std::string marks;
  auto marked = [&](char what) { return marks.find(what) != marks.npos; };
  unsigned run = 0;
  for (; run < options.seeds && status == 0 && (run == 0 || marks == "k");
       ++run) {
    marks.clear();
    std::ofstream(findings).flush();
    // Launches of a program count seeds up by one; programs keep their
    // distance.
    uint64_t seed = options.seed + uint64_t{run} * 1000003;
    setenv("NVFP4_SIM_OPTIONS",
           (options.passed + " --seed " + std::to_string(seed)).c_str(), 1);
    status = runOnce(argv + options.program);
    // Several processes of a program leave their marks.
    std::set<char> distinct;
    for (char mark : marksIn(findings))
      distinct.insert(mark);
    marks.assign(distinct.begin(), distinct.end());
  }
  unlink(findings.c_str());
  if (marked('f'))
    std::fprintf(stderr, "nvfp4-sim: findings in run %u of %u\n", run,
                 options.seeds);
  else if (status == 0 && !marked('k'))
    std::fprintf(stderr,
                 "nvfp4-sim: error: expected a program that launches kernels "
                 "through libcudart.so or libcuda.so, but '%s' launched none, "
                 "so nothing was checked\n",
                 argv[options.program]);
  else if (status == 0 && options.seeds > 1)
    std::fprintf(stderr, "nvfp4-sim: %u runs, no findings\n", run);
  if (status)
    return status;
  return marked('w') ? 2 : marked('f') || !marked('k') ? 1 : 0;
}

} // namespace nvfp4::simtool
