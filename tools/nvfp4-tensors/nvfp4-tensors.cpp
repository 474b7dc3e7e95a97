//===- nvfp4-tensors.cpp - Lists the tensors of files -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
// Options only; the work is in lib/Tools/ListTensors.cpp.
//===----------------------------------------------------------------------===//

#include "nvfp4/Tools/ListTensors.h"

#include <cstdio>
#include <string_view>

static constexpr char usage[] = R"(usage: nvfp4-tensors [options] SPEC...

Lists the tensors of each SPEC, one per line. A SPEC is
  file.npy
  file.safetensors[:tensor]
  model.safetensors.index.json[:tensor]
  directory or directory/:tensor
with @dtype behind it for raw or integer data.

  --no-values       only names, types and shapes: reads no data
  --print[=COUNT]   also the first COUNT elements (8), row-major
  --output=FILE     copies the tensor of the only SPEC to a .npy or .safetensors
)";

int main(int argc, char **argv) {
  nvfp4::tools::ListOptions options;
  options.report = [](const std::string &message) {
    std::fprintf(stderr, "%s\n", message.c_str());
  };
  for (int i = 1; i < argc; ++i) {
    std::string_view argument = argv[i];
    if (argument == "--help" || argument == "-h")
      return std::fputs(usage, stdout) < 0 || std::fflush(stdout) != 0;
    if (argument == "--no-values")
      options.values = false;
    else if (argument == "--print")
      options.print = 8;
    else if (int count = 0, end = 0;
             std::sscanf(argv[i], "--print=%9d%n", &count, &end) == 1 &&
             argument.size() == size_t(end) && count > 0)
      options.print = count;
    else if (argument.starts_with("--output=") && argument.size() > 9)
      options.output = argument.substr(9);
    else if (argument.starts_with("--")) {
      std::fprintf(stderr, "nvfp4-tensors: unknown option '%s'\n%s", argv[i],
                   usage);
      return 2;
    } else
      options.specs.emplace_back(argument);
  }
  if (options.specs.empty() ||
      (!options.output.empty() && options.specs.size() != 1))
    return std::fputs(usage, stderr) < 0 ? 1 : 2;
  return nvfp4::tools::runListTensors(options);
}
