//===- PredictParallel.cpp - a layer on several GPUs ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The time of a layer whose experts are on the GPUs of one host, from its
// products (the model of sm_90a), the bytes that cross a link, and the bytes of
// the passes beside the products. Routing is uniform. Nothing here was
// measured.
//
//===----------------------------------------------------------------------===//

#include "PredictParallel.h"

#include "nvfp4/KernelTarget/KernelTarget.h"
#include "nvfp4/Strategy/KernelTargets.h"

#include <algorithm>
#include <cstdio>
#include <string>

using namespace nvfp4::strategy;

namespace {

/// A host of H200s.
struct Host {
  int64_t ranks = 8;
  /// Bytes per microsecond that a GPU sends while it receives as many: NVLink 4
  /// is 450 GB/s in the data sheet; 373 to 387 are published for exchanges of
  /// rows on H200 (awsome-distributed-training, pull request 1234).
  double link = 380e3;
  /// DRAM of a GPU that passes read and write: docs/Hopper.md measured it.
  double dram = 4.3e6;
  /// A signal to all GPUs and its arrival, in microseconds: 4 in the comments
  /// of DeepGEMM's kernel, of which an exchange of rows has one each way and
  /// one for counts.
  double signal = 4;
  /// A launch that waits for the one before it, in microseconds, of quantiser,
  /// dispatch, order, two products, and sum: between launches of one CUDA
  /// graph, an assumption.
  double launch = 3;
  int64_t launches = 6;
};

struct Model {
  const char *name;
  int64_t experts, hidden, inner, topK;
};

/// Microseconds of one product of a rank, with `tokens` on each.
double predictProduct(const Model &model, const Host &host, int64_t tokens,
                      int64_t n, int64_t k, bool isPaired) {
  Problem problem;
  problem.extentsOnDevice = problem.forKernels = true;
  problem.epilogue.paired = problem.epilogue.heavy = isPaired;
  problem.epilogue.gateGranularity = isPaired ? 32 : 0;
  // The slots of all ranks fall on the experts of this one as if each were of
  // a token of its own.
  problem.groups =
      spreadRows(tokens * model.topK, model.experts / host.ranks, n, k);
  const KernelTarget *target = findKernelTarget("sm_90a");
  return target->rankTiles(problem).front().prediction.total;
}

/// Ranks other than its own that a token visits, on average.
double countRemoteRanks(const Model &model, const Host &host) {
  // No slot of a token is on one rank: a product over its slots.
  double none = 1;
  auto local = model.experts / host.ranks;
  for (int64_t slot = 0; slot < model.topK; ++slot)
    none *= static_cast<double>(model.experts - local - slot) /
            static_cast<double>(model.experts - slot);
  return static_cast<double>(host.ranks - 1) * (1 - none);
}

void print(const Model &model, const Host &host, int64_t tokens) {
  double gateUp =
      predictProduct(model, host, tokens, 2 * model.inner, model.hidden, true);
  double down =
      predictProduct(model, host, tokens, model.hidden, model.inner, false);
  auto t = static_cast<double>(tokens), k = static_cast<double>(model.topK);
  auto hidden = static_cast<double>(model.hidden);
  double row = hidden * 4.5 / 8 + 8 * k;
  double remote = countRemoteRanks(model, host);
  double remoteSlots =
      k * static_cast<double>(host.ranks - 1) / static_cast<double>(host.ranks);
  double dispatch = t * remote * row / host.link;
  // Rows return in bf16, as those of peers do; in f32 they take twice that.
  double combine = t * remoteSlots * hidden * 2 / host.link;
  // Quantiser; rows written in the order of experts; sum over slots.
  double passes =
      (t * hidden * 2 + t * row + 2 * t * k * row + t * (k + 1) * hidden * 2) /
      host.dram;
  double fixed =
      3 * host.signal + static_cast<double>(host.launches) * host.launch;
  double products = gateUp + down;
  double staged = products + dispatch + combine + passes + fixed;
  double overlapped =
      std::max(products, dispatch + combine) + 3 * host.signal + host.launch;
  std::printf(
      "{\"case\": \"parallel_%s_r%lld_t%lld\", \"rows\": %lld, "
      "\"staged_us\": %.1f, \"overlapped_us\": %.1f, \"gate_up_us\": %.1f, "
      "\"down_us\": %.1f, \"dispatch_us\": %.1f, \"combine_us\": %.1f, "
      "\"passes_us\": %.1f, \"remote_ranks\": %.2f}\n",
      model.name, static_cast<long long>(host.ranks),
      static_cast<long long>(tokens),
      static_cast<long long>(tokens * model.topK), staged, overlapped, gateUp,
      down, dispatch, combine, passes, remote);
}

} // namespace

void printParallelLayers() {
  registerKernelTargets();
  const Host host;
  const Model models[] = {{"deepseek-v3", 256, 7168, 2048, 8},
                          {"gpt-oss-120b", 128, 2880, 2880, 4},
                          {"qwen3-235b", 128, 4096, 1536, 8}};
  for (const Model &model : models)
    for (int64_t tokens : {1, 8, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192})
      print(model, host, tokens);
}
