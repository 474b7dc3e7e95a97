//===- program.cu - A CUDA program -----------------------------*- CUDA -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program of the runtime API as people write them: launches by <<<>>> and
// with attributes, symbols, managed memory, events, streams, occupancy, and a
// tensor map that the driver's entry point encodes.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <vector>

#define CHECK(call)                                                            \
  do {                                                                         \
    cudaError_t error = (call);                                                \
    if (error != cudaSuccess) {                                                \
      std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(error));       \
      return 1;                                                                \
    }                                                                          \
  } while (0)

__device__ float gain = 2.0f;
__constant__ int table[4] = {10, 20, 30, 40};

template <typename T> __global__ void scale(T *data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    data[i] = data[i] * T(gain) + T(table[i % 4]);
}

// Every CTA of a cluster adds up what its neighbour holds in shared memory.
__global__ void neighbours(unsigned *out) {
  extern __shared__ unsigned shared[];
  unsigned rank, size;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  shared[threadIdx.x] = 1000 * rank + threadIdx.x;
  asm volatile("barrier.cluster.arrive.aligned;\n"
               "barrier.cluster.wait.aligned;" ::
                   : "memory");
  unsigned mine = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  unsigned theirs, value, sum = 0;
  asm("mapa.shared::cluster.u32 %0, %1, %2;"
      : "=r"(theirs)
      : "r"(mine), "r"((rank + 1) % size));
  for (unsigned i = 0; i < blockDim.x; ++i) {
    asm volatile("ld.shared::cluster.u32 %0, [%1];"
                 : "=r"(value)
                 : "r"(theirs + 4 * i));
    sum += value;
  }
  asm volatile("barrier.cluster.arrive.aligned;\n"
               "barrier.cluster.wait.aligned;" ::
                   : "memory");
  if (threadIdx.x == 0)
    out[blockIdx.x] = sum;
}

// Fetches a tile of 8 by 32 floats and stores it transposed.
__global__ void transpose(const __grid_constant__ CUtensorMap map, float *out) {
  __shared__ alignas(128) float tile[8][32];
  __shared__ alignas(8) uint64_t full;
  unsigned barrier = static_cast<unsigned>(__cvta_generic_to_shared(&full));
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(barrier));
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 1024;" ::"r"(
        barrier));
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::"
        "complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
            static_cast<unsigned>(__cvta_generic_to_shared(tile))),
        "l"(&map), "r"(0), "r"(8 * static_cast<int>(blockIdx.x)), "r"(barrier)
        : "memory");
  }
  __syncthreads();
  unsigned done = 0;
  while (!done)
    asm volatile("{\n.reg .pred p;\n"
                 "mbarrier.try_wait.parity.shared.b64 p, [%1], 0;\n"
                 "selp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done)
                 : "r"(barrier)
                 : "memory");
  for (unsigned row = 0; row < 8; ++row)
    out[threadIdx.x * 16 + 8 * blockIdx.x + row] = tile[row][threadIdx.x];
}

int main() {
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  std::printf("%s: %d.%d, %d multiprocessors, %zu bytes\n", properties.name,
              properties.major, properties.minor,
              properties.multiProcessorCount,
              properties.sharedMemPerBlockOptin);

  // Symbols, streams, events.
  std::vector<float> host(100);
  for (int i = 0; i < 100; ++i)
    host[i] = float(i);
  float *data;
  cudaStream_t stream;
  cudaEvent_t start, stop;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  CHECK(cudaMalloc(&data, 400));
  CHECK(cudaMemcpyAsync(data, host.data(), 400, cudaMemcpyDefault, stream));
  float three = 3.0f;
  int seven = 7;
  CHECK(cudaMemcpyToSymbol(gain, &three, sizeof three));
  CHECK(cudaMemcpyToSymbol(table, &seven, sizeof seven, 4));
  CHECK(cudaEventRecord(start, stream));
  scale<<<4, 32, 0, stream>>>(data, 100);
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(stop, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaMemcpy(host.data(), data, 400, cudaMemcpyDeviceToHost));
  int expected[4] = {10, 7, 30, 40}, wrong = 0;
  for (int i = 0; i < 100; ++i)
    wrong += host[i] != 3.0f * i + expected[i % 4];
  float milliseconds = -1;
  CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
  std::printf("scale: %d wrong, time is %s\n", wrong,
              milliseconds >= 0 ? "positive" : "negative");

  // Managed memory is one place for both sides.
  int *managed;
  CHECK(cudaMallocManaged(&managed, 40));
  for (int i = 0; i < 10; ++i)
    managed[i] = i;
  scale<int><<<1, 32>>>(managed, 10);
  CHECK(cudaDeviceSynchronize());
  std::printf("managed: %d %d\n", managed[0], managed[9]);

  // A cluster of four with more shared memory than goes without saying.
  unsigned *sums;
  CHECK(cudaMallocManaged(&sums, 8 * sizeof(unsigned)));
  int bytes = 100 * 1024, blocks = 0;
  CHECK(cudaFuncSetAttribute(
      neighbours, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, neighbours, 64,
                                                      bytes));
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim.x = 4;
  attributes[0].val.clusterDim.y = 1;
  attributes[0].val.clusterDim.z = 1;
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = 8;
  config.blockDim = 64;
  config.dynamicSmemBytes = bytes;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = 2;
  CHECK(cudaLaunchKernelEx(&config, neighbours, sums));
  CHECK(cudaDeviceSynchronize());
  std::printf("cluster: %d blocks, %u %u %u\n", blocks, sums[0], sums[3],
              sums[6]);

  // A tensor map.
  void *entry = nullptr;
  cudaDriverEntryPointQueryResult found;
  CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry,
                                         12000, cudaEnableDefault, &found));
  auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(entry);
  float *matrix, *turned;
  CHECK(cudaMallocManaged(&matrix, 16 * 32 * sizeof(float)));
  CHECK(cudaMallocManaged(&turned, 16 * 32 * sizeof(float)));
  for (int i = 0; i < 16 * 32; ++i)
    matrix[i] = float(i);
  CUtensorMap map;
  cuuint64_t size[2] = {32, 16}, stride[1] = {128};
  cuuint32_t box[2] = {32, 8}, step[2] = {1, 1};
  CUresult result = encode(
      &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, matrix, size, stride, box, step,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
      CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  transpose<<<2, 32>>>(map, turned);
  CHECK(cudaDeviceSynchronize());
  wrong = 0;
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 32; ++j)
      wrong += turned[j * 16 + i] != matrix[i * 32 + j];
  std::printf("transpose: %d, %d wrong\n", int(result), wrong);

  // A fault is sticky.
  scale<<<1, 32>>>(data + 90, 32);
  std::printf("launch: %s\n", cudaGetErrorString(cudaGetLastError()));
  std::printf("then: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  std::printf("and: %s\n", cudaGetErrorName(cudaFree(data)));
}
