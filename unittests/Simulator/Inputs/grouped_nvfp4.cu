//===- grouped_nvfp4.cu - grouped NVFP4 GEMM, input of the benchmarks -----===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// D_g = alpha * A_g B_g^T, f16 results, 128x256 tiles, three stages of K = 256,
// persistent, warp-specialised (warp 0 loads, warp 1 multiplies, warps 4 to 7
// store). With PAIR two CTAs share a tile of 256x256: each holds its half of
// the rows and of B, the even one multiplies. The PTX next to it is made by
//   nvcc -arch=sm_100a -O3 -ptx grouped_nvfp4.cu
//   nvcc -arch=sm_100a -O3 -ptx -DPAIR -o grouped_nvfp4_pair.ptx \
//     grouped_nvfp4.cu
//
//===----------------------------------------------------------------------===//

#include <cstdint>
#include <cuda_fp16.h>

struct alignas(64) TensorMap {
  char bytes[128];
};

#ifdef PAIR
#define KERNEL grouped_nvfp4_pair
#define GROUP "cta_group::2"
constexpr int pair = 2;
#else
#define KERNEL grouped_nvfp4
#define GROUP "cta_group::1"
constexpr int pair = 1;
#endif

constexpr int maximumGroups = 8;
constexpr int stages = 3;
constexpr int tileRows = 128 * pair;
constexpr uint32_t aBytes = 128 * 128, bBytes = 256 / pair * 128;
constexpr uint32_t saBytes = 2048, sbBytes = 4096;
constexpr uint32_t stageBytes = aBytes + bBytes + saBytes + sbBytes;
constexpr uint32_t storeBytes = 128 * 128;

struct Arguments {
  TensorMap a[maximumGroups], b[maximumGroups], d[maximumGroups];
  /// Scales as rows of 512-byte atoms; the pointers name the same memory.
  TensorMap saMap[maximumGroups], sbMap[maximumGroups];
  const uint8_t *sa[maximumGroups], *sb[maximumGroups];
  float alpha[maximumGroups];
  int m[maximumGroups];
  int n, k, groups;
};

__device__ uint32_t shared(const void *p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}
__device__ bool elect() {
  uint32_t chosen;
  asm volatile("{\n .reg .pred p;\n elect.sync _|p, -1;\n"
               " selp.u32 %0, 1, 0, p;\n}"
               : "=r"(chosen));
  return chosen;
}
__device__ void init(uint32_t bar, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar),
               "r"(count));
}
__device__ void wait(uint32_t bar, uint32_t parity) {
  asm volatile("{\n .reg .pred p;\nagain:\n"
               " mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
               " @!p bra again;\n}" ::"r"(bar),
               "r"(parity)
               : "memory");
}
/// Arrives on the mbarrier of the CTA that multiplies.
__device__ void arriveAtLeader(uint32_t bar) {
#ifdef PAIR
  asm volatile("{\n .reg .b32 remote;\n"
               " mapa.shared::cluster.u32 remote, %0, 0;\n"
               " mbarrier.arrive.release.cluster.shared::cluster.b64 _,"
               " [remote];\n}" ::"r"(bar)
               : "memory");
#else
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar)
               : "memory");
#endif
}
__device__ uint32_t clusterRank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
/// All threads of the CTA, or of the pair.
__device__ void syncAll() {
#ifdef PAIR
  asm volatile("barrier.cluster.arrive.release.aligned;\n"
               "barrier.cluster.wait.acquire.aligned;" ::
                   : "memory");
#else
  __syncthreads();
#endif
}
__device__ void expect(uint32_t bar, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                   bar),
               "r"(bytes)
               : "memory");
}
__device__ void loadTile(uint32_t dst, const TensorMap *map, uint32_t bar,
                         int x, int y) {
#ifdef PAIR
  // Bit 24 of a shared address tells the CTAs of a pair apart: the even one
  // counts what both load.
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::"
               "complete_tx::bytes.cta_group::2"
               " [%0], [%1, {%3, %4}], [%2];" ::"r"(dst),
               "l"(map), "r"(bar & 0xfeffffffu), "r"(x), "r"(y)
               : "memory");
#else
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4}], [%2];" ::"r"(dst),
      "l"(map), "r"(bar), "r"(x), "r"(y)
      : "memory");
#endif
}
__device__ void loadBytes(uint32_t dst, const void *src, uint32_t bytes,
                          uint32_t bar) {
  asm volatile(
      "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes"
      " [%0], [%1], %2, [%3];" ::"r"(dst),
      "l"(src), "r"(bytes), "r"(bar)
      : "memory");
}
__device__ void commit(uint32_t bar) {
#ifdef PAIR
  asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::"
               "cluster.multicast::cluster.b64 [%0], %1;" ::"r"(bar),
               "h"(uint16_t(3))
               : "memory");
#else
  asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::"
               "cluster.b64 [%0];" ::"r"(bar)
               : "memory");
#endif
}
__device__ void copyScales(uint32_t taddr, uint32_t address) {
  // No swizzle: rows of 16 bytes, 128 bytes for each 8 rows.
  uint64_t descriptor = (uint64_t{address} >> 4 & 0x3fff) |
                        uint64_t{8} << 32 | uint64_t{1} << 46;
  asm volatile("tcgen05.cp." GROUP ".32x128b.warpx4 [%0], %1;" ::"r"(taddr),
               "l"(descriptor)
               : "memory");
}
__device__ uint64_t swizzled(uint32_t address) {
  return (uint64_t{address} >> 4 & 0x3fff) | uint64_t{64} << 32 |
         uint64_t{1} << 46 | uint64_t{2} << 61;
}
__device__ void multiply(uint32_t d, uint64_t a, uint64_t b, uint32_t sa,
                         uint32_t sb, uint32_t accumulate) {
  // M = 128 or 256, N = 256, e2m1 x e2m1, ue4m3 scales.
  constexpr uint32_t descriptor = pair << 27 | 32u << 17 | 1u << 10 | 1u << 7;
  asm volatile(
      "{\n .reg .pred p;\n setp.ne.u32 p, %6, 0;\n"
      " tcgen05.mma." GROUP ".kind::mxf4nvf4.block_scale.block16"
      " [%0], %1, %2, %3, [%4], [%5], p;\n}" ::"r"(d),
      "l"(a), "l"(b), "r"(descriptor), "r"(sa), "r"(sb), "r"(accumulate)
      : "memory");
}

struct Tile {
  int group, m, n;
};

/// The tile `index` of all groups; group is -1 behind the last.
__device__ Tile tileAt(const Arguments &args, int index) {
  int columns = args.n / 256;
  for (int g = 0; g < args.groups; ++g) {
    int rows = (args.m[g] + tileRows - 1) / tileRows;
    if (index < rows * columns)
      return {g, index / columns, index % columns};
    index -= rows * columns;
  }
  return {-1, 0, 0};
}

extern "C" __global__ void __cluster_dims__(pair, 1, 1)
    __launch_bounds__(256, 1) KERNEL(const __grid_constant__ Arguments args) {
  extern __shared__ __align__(1024) uint8_t memory[];
  __shared__ __align__(8) uint64_t barriers[2 * stages + 2];
  __shared__ uint32_t tmemSlot;
  uint32_t base = shared(memory);
  uint32_t full = shared(&barriers[0]), empty = shared(&barriers[stages]);
  uint32_t ready = shared(&barriers[2 * stages]), free = ready + 8;
  int warp = threadIdx.x / 32;
  int steps = args.k / 256;
  int rank = pair == 2 ? clusterRank() : 0;
  int firstTile = blockIdx.x / pair, tileStep = gridDim.x / pair;
  if (threadIdx.x == 0) {
    for (int s = 0; s < stages; ++s) {
      init(full + 8 * s, 1);
      init(empty + 8 * s, 1);
    }
    init(ready, 1);
    init(free, 128 * pair);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  if (warp == 2) {
    asm volatile("tcgen05.alloc." GROUP ".sync.aligned.shared::cta.b32 "
                 "[%0], 512;" ::"r"(shared(&tmemSlot))
                 : "memory");
    asm volatile(
        "tcgen05.relinquish_alloc_permit." GROUP ".sync.aligned;");
  }
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
  syncAll();
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  uint32_t tmem = tmemSlot;

  if (warp == 0 && elect()) {
    uint32_t step = 0;
    for (int t = firstTile;; t += tileStep) {
      Tile tile = tileAt(args, t);
      if (tile.group < 0)
        break;
      const uint8_t *sa = args.sa[tile.group] + int64_t{tile.m} * steps * 2048;
      const uint8_t *sb =
          args.sb[tile.group] + int64_t{tile.n} * 2 * steps * 2048;
      for (int i = 0; i < steps; ++i, ++step) {
        uint32_t s = step % stages, turn = step / stages;
        wait(empty + 8 * s, (turn & 1) ^ 1);
        uint32_t to = base + s * stageBytes, bar = full + 8 * s;
        if (rank == 0)
          expect(bar, stageBytes * pair);
        int row = tile.m * tileRows + rank * 128;
        int column = tile.n * 256 + rank * 128;
        loadTile(to, &args.a[tile.group], bar, i * 128, row);
        loadTile(to + aBytes, &args.b[tile.group], bar, i * 128, column);
        to += aBytes + bBytes;
#ifdef PAIR
        int atom = 4 * i;
        const TensorMap *sbMap = &args.sbMap[tile.group];
        loadTile(to, &args.saMap[tile.group], bar, 0,
                 row / 128 * 4 * steps + atom);
        loadTile(to + 2048, sbMap, bar, 0, tile.n * 8 * steps + atom);
        loadTile(to + 4096, sbMap, bar, 0, (tile.n * 8 + 4) * steps + atom);
#else
        loadBytes(to, sa + i * 2048, 2048, bar);
        loadBytes(to + 2048, sb + i * 2048, 2048, bar);
        loadBytes(to + 4096, sb + (steps + i) * 2048, 2048, bar);
#endif
      }
    }
  } else if (warp == 1 && rank == 0 && elect()) {
    uint32_t step = 0, turn = 0;
    for (int t = firstTile; tileAt(args, t).group >= 0;
         t += tileStep, ++turn) {
      wait(free, (turn & 1) ^ 1);
      asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
      for (int i = 0; i < steps; ++i, ++step) {
        uint32_t s = step % stages;
        wait(full + 8 * s, step / stages & 1);
        asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
        uint32_t a = base + s * stageBytes, b = a + aBytes;
        uint32_t sa = b + bBytes, sb = sa + saBytes;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          copyScales(tmem + 256 + 4 * j, sa + 512 * j);
          copyScales(tmem + 272 + 8 * j, sb + 512 * j);
          copyScales(tmem + 276 + 8 * j, sb + 2048 + 512 * j);
        }
#pragma unroll
        for (int j = 0; j < 4; ++j)
          multiply(tmem, swizzled(a + 32 * j), swizzled(b + 32 * j),
                   tmem + 256 + 4 * j, tmem + 272 + 8 * j, i || j);
        commit(empty + 8 * s);
      }
      commit(ready);
    }
  } else if (warp >= 4) {
    uint32_t turn = 0, chunk = 0;
    int row = threadIdx.x - 128;
    uint32_t staging = base + stages * stageBytes;
    for (int t = firstTile;; t += tileStep, ++turn) {
      Tile tile = tileAt(args, t);
      if (tile.group < 0)
        break;
      float alpha = args.alpha[tile.group];
      wait(ready, turn & 1);
      asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
#pragma unroll 1
      for (int c = 0; c < 4; ++c, ++chunk) {
        uint32_t to = staging + (chunk & 1) * storeBytes;
        uint32_t v[64];
        uint32_t from = tmem + (uint32_t(warp % 4) << 21) + 64 * c;
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          uint32_t *r = v + 32 * h;
          asm volatile(
              "tcgen05.ld.sync.aligned.32x32b.x32.b32 {%0, %1, %2, %3, %4, %5,"
              " %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18,"
              " %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30,"
              " %31}, [%32];"
              : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]),
                "=r"(r[5]), "=r"(r[6]), "=r"(r[7]), "=r"(r[8]), "=r"(r[9]),
                "=r"(r[10]), "=r"(r[11]), "=r"(r[12]), "=r"(r[13]),
                "=r"(r[14]), "=r"(r[15]), "=r"(r[16]), "=r"(r[17]),
                "=r"(r[18]), "=r"(r[19]), "=r"(r[20]), "=r"(r[21]),
                "=r"(r[22]), "=r"(r[23]), "=r"(r[24]), "=r"(r[25]),
                "=r"(r[26]), "=r"(r[27]), "=r"(r[28]), "=r"(r[29]),
                "=r"(r[30]), "=r"(r[31])
              : "r"(from + 32 * h));
        }
        asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
        if (c == 3) {
          asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
          arriveAtLeader(free);
        }
        if (row == 0)
          asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
        asm volatile("bar.sync 1, 128;" ::: "memory");
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          uint32_t packed[4];
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            __half2 two = __floats2half2_rn(
                __uint_as_float(v[8 * j + 2 * i]) * alpha,
                __uint_as_float(v[8 * j + 2 * i + 1]) * alpha);
            packed[i] = *reinterpret_cast<uint32_t *>(&two);
          }
          uint32_t place = to + row * 128 + ((j ^ (row & 7)) << 4);
          asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(place),
                       "r"(packed[0]), "r"(packed[1]), "r"(packed[2]),
                       "r"(packed[3])
                       : "memory");
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("bar.sync 1, 128;" ::: "memory");
        if (row == 0) {
          asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group"
                       " [%0, {%2, %3}], [%1];" ::"l"(&args.d[tile.group]),
                       "r"(to), "r"(tile.n * 256 + c * 64),
                       "r"(tile.m * tileRows + rank * 128)
                       : "memory");
          asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        }
      }
    }
    if (row == 0)
      asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
  syncAll();
  if (warp == 2)
    asm volatile("tcgen05.dealloc." GROUP ".sync.aligned.b32 %0, 512;" ::"r"(
        tmem));
}
