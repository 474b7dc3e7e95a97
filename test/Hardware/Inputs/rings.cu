//===- rings.cu - Ways to release a slot, for racecheck ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A ring of two slots between a thread that writes and eight warps that read,
// released by every lane, by one lane after bar.warp.sync, or, which is wrong,
// by one without it or before the warp reads. docs/Hopper.md says what it
// shows.
//
//   nvcc -arch=sm_90a -o rings rings.cu
//   compute-sanitizer --tool racecheck --racecheck-report all rings
//   [store|copy]
//       [lanes|warp|unmet|early]
//
//===----------------------------------------------------------------------===//

#include <cstdint>
#include <cstdio>
#include <cstring>

enum class Release { Lanes, Warp, Unmet, Early };
constexpr int depth = 2, words = 1024, rounds = 12, readers = 256;

__device__ uint32_t addressOf(const void *pointer) {
  return uint32_t(__cvta_generic_to_shared(pointer));
}

__device__ void arrive(uint64_t *barrier) {
  asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(
                   addressOf(barrier))
               : "memory");
}

__device__ void wait(uint64_t *barrier, int phase) {
  asm volatile("{ .reg .pred p;\n"
               "AGAIN%=: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n"
               "@!p bra AGAIN%=; }" ::"r"(addressOf(barrier)),
               "r"(phase)
               : "memory");
}

__device__ void arriveOnce(uint64_t *barrier) {
  uint32_t elected;
  asm volatile("{ .reg .pred p; elect.sync _|p, -1; selp.u32 %0, 1, 0, p; }"
               : "=r"(elected));
  if (elected)
    arrive(barrier);
}

/// An asynchronous copy of a slot that `full` waits for.
__device__ void copy(uint32_t *to, const uint32_t *from, uint64_t *full) {
  asm volatile("{ .reg .b64 t;\n"
               "mbarrier.arrive.expect_tx.shared.b64 t, [%2], %3;\n"
               "fence.proxy.async.shared::cta;\n"
               "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx"
               "::bytes [%0], [%1], %3, [%2]; }" ::"r"(addressOf(to)),
               "l"(from), "r"(addressOf(full)), "r"(words * 4)
               : "memory");
}

__global__ void run(const uint32_t *in, uint32_t *out, bool isCopy,
                    Release release) {
  extern __shared__ __align__(128) uint32_t slots[];
  auto *full = reinterpret_cast<uint64_t *>(slots + depth * words);
  uint64_t *empty = full + depth;
  int thread = threadIdx.x;
  if (thread == 0) {
    for (int i = 0; i < 2 * depth; ++i) {
      int released = release == Release::Lanes ? readers : readers / 32;
      asm volatile(
          "mbarrier.init.shared.b64 [%0], %1;" ::"r"(addressOf(full + i)),
          "r"(i < depth ? 1 : released)
          : "memory");
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (thread > readers)
    return;
  uint32_t sum = 0;
  for (int i = 0; i < rounds; ++i) {
    int stage = i % depth, phase = i / depth % 2;
    uint32_t *slot = slots + stage * words;
    if (thread == readers) {
      wait(empty + stage, phase ^ 1);
      if (isCopy) {
        copy(slot, in + i * words, full + stage);
        continue;
      }
      for (int j = 0; j < words; j += 64)
        slot[j] = in[i * words + j];
      arrive(full + stage);
      continue;
    }
    wait(full + stage, phase);
    if (release == Release::Early) {
      __syncwarp();
      arriveOnce(empty + stage);
    }
    for (int j = 0; j < words; j += 64)
      sum += static_cast<volatile uint32_t *>(slot)[j];
    if (release == Release::Lanes)
      arrive(empty + stage);
    if (release == Release::Warp)
      __syncwarp();
    if (release == Release::Warp || release == Release::Unmet)
      arriveOnce(empty + stage);
  }
  if (thread < readers)
    out[thread] = sum;
}

int main(int count, char **arguments) {
  const char *names[] = {"lanes", "warp", "unmet", "early"};
  if (count != 3)
    return 2;
  int release = 0;
  while (release < 4 && std::strcmp(arguments[2], names[release]))
    ++release;
  if (release == 4)
    return 2;
  uint32_t *in, *out;
  cudaMalloc(&in, rounds * words * 4);
  cudaMemset(in, 1, rounds * words * 4);
  cudaMalloc(&out, readers * 4);
  run<<<1, readers + 32, depth * words * 4 + 16 * depth>>>(
      in, out, !std::strcmp(arguments[1], "copy"), Release(release));
  cudaError_t error = cudaDeviceSynchronize();
  std::printf("%s %s: %s\n", arguments[1], arguments[2],
              cudaGetErrorString(error));
  return error != cudaSuccess;
}
