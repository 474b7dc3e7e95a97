//===- Machine.h - what a GPU offers a tile ---------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Capacities are of the instruction set, rates were measured by others;
// docs/Rationale/Strategy.md names the sources.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_STRATEGY_TCGEN05_MACHINE_H
#define NVFP4_STRATEGY_TCGEN05_MACHINE_H

#include <array>
#include <cstdint>

namespace nvfp4::strategy {

/// Aggregate rate of TMA reads from DRAM when every SM keeps `bytes` in flight.
struct InFlightPoint {
  double bytes;
  double bytesPerSecond;
};

/// A GPU as the cost model sees it. Rates in bytes, operations or cycles a
/// second, for the whole machine unless a comment says otherwise.
struct Machine {
  int64_t sms;
  double clock;

  /// Bytes of shared memory that one CTA may use.
  int64_t sharedMemory;
  /// Columns of tensor memory, of 128 lanes and 32 bits.
  int64_t tensorMemoryColumns;
  /// CTAs of a cluster that every device accepts.
  int64_t clusterCtas;

  /// For floors: what the data sheet promises.
  double peakDram;
  double peakFp4;
  double peakFp8;
  double peakBf16;

  /// For predictions: what was measured.
  std::array<InFlightPoint, 9> dramInFlight;
  double sharedMemoryFill;
  /// The same where CTAs of a cluster share their loads: each byte goes to two
  /// of them, or to more.
  double fillSharedByTwo;
  double fillSharedByMore;

  /// Seconds from the launch to the first instruction of a warm kernel, to the
  /// first tile in shared memory, and from the last product to the end.
  double launch;
  double firstTile;
  double tail;
  /// From the last sum that a part of K stores to the first that another CTA
  /// reads.
  double handOver;
  /// From the request for the number of a tile to its arrival.
  double tileNumber;
  /// Cycles of the epilogue for a column of 128 lanes, without and with an
  /// activation or a quantiser.
  double epilogueCyclesPerColumn;
  double heavyEpilogueCyclesPerColumn;
  /// Cycles in which a multiprocessor decodes a tile's weights of one column
  /// of K, 128 codes of 4 or of 8 bits.
  double decodeFp4CyclesPerColumn;
  double decodeFp8CyclesPerColumn;
};

/// Devices of sm_100a, and the fastest ones of sm_103a.
extern const Machine kB200, kB300;

} // namespace nvfp4::strategy

#endif // NVFP4_STRATEGY_TCGEN05_MACHINE_H
