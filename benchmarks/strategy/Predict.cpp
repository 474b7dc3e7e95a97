//===- Predict.cpp - predicted times of known layers ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints one JSON object a shape: the grouped shapes of the GPU MODE
// competition, the two products of three MoE layers for several batches, and
// three dense products of which times are published; with --parallel layers on
// several GPUs. benchmarks/predict calls it.
//
//===----------------------------------------------------------------------===//

#include "PredictParallel.h"

#include "nvfp4/Strategy/Tcgen05/StrategySearch.h"

#include <cstdio>
#include <string>
#include <tuple>
#include <vector>

using namespace nvfp4::strategy;

static void print(const std::string &name, Problem problem,
                  const Machine &machine) {
  // Of the tiles that have a kernel.
  problem.forKernels = true;
  Floor floor = computeFloor(problem, machine);
  Candidate chosen = searchStrategies(problem, machine).front();
  const Prediction &own = chosen.prediction;
  std::printf("{\"case\": \"%s\", \"rows\": %lld, \"floor_us\": %.3f, "
              "\"predicted_us\": %.3f, \"busy_us\": %.3f, \"dram_us\": %.3f, "
              "\"bound\": \"%s\", \"strategy\": \"%s\"}\n",
              name.c_str(), static_cast<long long>(problem.getRows()),
              floor.getTotal(), own.total, own.busy, own.dram,
              stringify(own.limit), toString(chosen.tile).c_str());
}

static void printCompetition(const Machine &machine) {
  struct Shape {
    const char *name;
    std::vector<int64_t> rows;
    int64_t n, k;
  };
  const Shape kShapes[] = {
      {"gm1", {80, 176, 128, 72, 64, 248, 96, 160}, 4096, 7168},
      {"gm2", {40, 76, 168, 72, 164, 148, 196, 160}, 7168, 2048},
      {"gm3", {192, 320}, 3072, 4096},
      {"gm4", {128, 384}, 4096, 1536}};
  for (const Shape &shape : kShapes) {
    Problem problem;
    for (int64_t rows : shape.rows)
      problem.groups.push_back({1, rows, shape.n, shape.k});
    print(shape.name, problem, machine);
  }
}

/// Each token chooses `topK` experts that differ.
static void printLayers(const Machine &machine) {
  struct Model {
    const char *name;
    int64_t experts, hidden, inner, topK;
  };
  const Model kModels[] = {{"gpt-oss-120b", 128, 2880, 2880, 4},
                           {"deepseek-v3", 256, 7168, 2048, 8},
                           {"qwen3-235b", 128, 4096, 1536, 8}};
  for (const Model &model : kModels) {
    for (int64_t tokens : {1, 16, 64, 256, 1024, 4096, 16384}) {
      auto printProduct = [&](const char *part, int64_t n, int64_t k) {
        Problem problem;
        problem.extentsOnDevice = true;
        problem.groups = spreadRows(tokens * model.topK, model.experts, n, k,
                                    INT64_MAX, model.topK);
        print(std::string(model.name) + "_" + part + "_t" +
                  std::to_string(tokens),
              problem, machine);
      };
      printProduct("gate_up", 2 * model.inner, model.hidden);
      printProduct("down", model.hidden, model.inner);
    }
  }
}

static void printDense(const Machine &machine) {
  for (auto [rows, n, k] :
       {std::tuple<int64_t, int64_t, int64_t>{8192, 8192, 8192},
        {1024, 7168, 2048},
        {128, 2048, 7168}}) {
    Problem problem;
    problem.lhs = problem.rhs = nvfp4::format::BlockFormat::MXFP4;
    problem.groups = {{1, rows, n, k}};
    print("mxfp4_dense_" + std::to_string(rows) + "x" + std::to_string(n) +
              "x" + std::to_string(k),
          problem, machine);
  }
}

int main(int count, char **arguments) {
  if (count == 2 && std::string(arguments[1]) == "--parallel") {
    printParallelLayers();
    return 0;
  }
  if (count != 1) {
    std::fprintf(stderr, "usage: nvfp4-predict [--parallel]\n");
    return 1;
  }
  const Machine &machine = kB200;
  printCompetition(machine);
  printLayers(machine);
  printDense(machine);
  return 0;
}
