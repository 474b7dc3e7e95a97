//===- Machine.cpp - the machines -------------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With K = 64 instructions and no published measurement of sm_103a, nothing is
// known to differ that decides between tiles: its data sheet changes floors.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Strategy/Tcgen05/Machine.h"

using namespace nvfp4::strategy;

static constexpr Machine b200 = {
    .sms = 148,
    .clock = 1.85e9,
    .sharedMemory = 232448,
    .tensorMemoryColumns = 512,
    .clusterCtas = 8,
    .peakDram = 8.0e12,
    .peakFp4 = 9.0e15,
    .peakFp8 = 4.5e15,
    .peakBf16 = 2.25e15,
    .dramInFlight = {{{512, 0.166e12},
                      {1024, 0.32e12},
                      {2048, 0.6e12},
                      {4096, 1.14e12},
                      {8192, 2.1e12},
                      {16384, 3.7e12},
                      {32768, 5.8e12},
                      {65536, 7.15e12},
                      {131072, 7.2e12}}},
    .sharedMemoryFill = 13.3e12,
    .fillSharedByTwo = 13.12e12,
    .fillSharedByMore = 8.8e12,
    .launch = 3.0e-6,
    .firstTile = 0.9e-6,
    .tail = 0.6e-6,
    .handOver = 1.2e-6,
    .tileNumber = 0.6e-6,
    .epilogueCyclesPerColumn = 8,
    .heavyEpilogueCyclesPerColumn = 16,
    // Instructions: 216 and 256 of each of eight warps for 64 codes of a lane,
    // and conversions at half the rate.
    .decodeFp4CyclesPerColumn = 3.4,
    .decodeFp8CyclesPerColumn = 4.4,
};

static constexpr Machine makeB300() {
  Machine machine = b200;
  machine.peakFp4 = 15.0e15;
  machine.peakFp8 = 5.0e15;
  machine.peakBf16 = 2.5e15;
  return machine;
}

constinit const Machine nvfp4::strategy::kB200 = b200;
constinit const Machine nvfp4::strategy::kB300 = makeB300();
