//===- peers.cu - Two devices in one program -------------------*- CUDA -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each device writes into the other's memory, tells it, and adds up what it has
// got. With an argument the second device leaves without telling.
//
//===----------------------------------------------------------------------===//

#include <cstdio>
#include <cuda/atomic>

constexpr int count = 256;

__global__ void exchange(int *mine, int *theirs, int rank, bool leaves) {
  int i = threadIdx.x;
  theirs[32 + i] = 1000 * rank + i;
  if (leaves)
    return;
  __syncthreads();
  if (i == 0) {
    cuda::atomic_ref<int, cuda::thread_scope_system> there(*theirs),
        here(*mine);
    there.store(1, cuda::memory_order_release);
    while (here.load(cuda::memory_order_acquire) == 0)
      ;
  }
  __syncthreads();
  atomicAdd(&mine[1], mine[32 + i]);
}

static bool isWrong(cudaError_t error, const char *what) {
  if (error != cudaSuccess)
    std::printf("%s: %s\n", what, cudaGetErrorName(error));
  return error != cudaSuccess;
}

int main(int argc, char **) {
  int devices = 0, can = 0;
  cudaGetDeviceCount(&devices);
  cudaDeviceCanAccessPeer(&can, 0, 1);
  std::printf("%d devices, access %d\n", devices, can);
  int *words[2];
  cudaStream_t streams[2];
  for (int i = 0; i < 2; ++i) {
    cudaSetDevice(i);
    if (isWrong(cudaDeviceEnablePeerAccess(1 - i, 0), "access"))
      return 1;
    cudaStreamCreate(&streams[i]);
    cudaMalloc(&words[i], (32 + count) * sizeof(int));
    cudaMemset(words[i], 0, (32 + count) * sizeof(int));
  }
  for (int i = 0; i < 2; ++i) {
    cudaSetDevice(i);
    exchange<<<1, count, 0, streams[i]>>>(words[i], words[1 - i], i,
                                          argc > 1 && i == 1);
  }
  for (int i = 0; i < 2; ++i) {
    cudaSetDevice(i);
    if (isWrong(cudaStreamSynchronize(streams[i]), "exchange"))
      return 1;
    int sum = 0;
    cudaMemcpy(&sum, words[i] + 1, sizeof sum, cudaMemcpyDefault);
    std::printf("sum of device %d: %d\n", i, sum);
  }
  int last = 0;
  cudaMemcpyPeer(words[0], 0, words[1] + 32 + count - 1, 1, sizeof(int));
  cudaMemcpy(&last, words[0], sizeof last, cudaMemcpyDefault);
  std::printf("last word: %d\n", last);
  return 0;
}
