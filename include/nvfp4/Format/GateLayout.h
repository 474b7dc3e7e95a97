//===- GateLayout.h - how gate and up rows interleave -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A GLU weight has N = 2I rows: I gate rows and I up rows, interleaved with a
// granularity q: blocks of q gate rows and q up rows alternate. q = I means two
// halves. Quantised weights may be permuted along rows freely, scales along
// with them; never along K.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_FORMAT_GATELAYOUT_H
#define NVFP4_FORMAT_GATELAYOUT_H

#include "nvfp4/Format/Enums.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace nvfp4::format {
/// A gate/up convention for output columns c in 0..I-1.
struct GateLayout {
  /// Rows of one kind in a run, q >= 1.
  int64_t granularity = 1;
  GateOrder order = GateOrder::GateFirst;

  /// True when a weight of `rows` rows can have this layout: rows is a multiple
  /// of 2q.
  constexpr bool divides(int64_t rows) const {
    return granularity >= 1 && rows >= 0 && rows % 2 == 0 &&
           rows / 2 % granularity == 0;
  }

  /// The weight row of the gate of output column `c`.
  constexpr int64_t gateRow(int64_t c) const {
    return base(c) + (order == GateOrder::GateFirst ? 0 : granularity);
  }

  /// The weight row of the up projection of output column `c`.
  constexpr int64_t upRow(int64_t c) const {
    return base(c) + (order == GateOrder::GateFirst ? granularity : 0);
  }

  /// True when weight row `row` is a gate row.
  constexpr bool isGateRow(int64_t row) const {
    bool firstRun = row / granularity % 2 == 0;
    return firstRun == (order == GateOrder::GateFirst);
  }

  /// The output column that weight row `row` contributes to.
  constexpr int64_t column(int64_t row) const {
    return row / granularity / 2 * granularity + row % granularity;
  }

private:
  constexpr int64_t base(int64_t c) const {
    return c / granularity * (2 * granularity) + c % granularity;
  }
};

/// A convention by the name of who writes it.
struct NamedGateLayout {
  std::string_view name;
  /// q, or 0 for halves (q = I).
  int64_t granularity;
  GateOrder order;

  /// The layout for I output columns.
  constexpr GateLayout layout(int64_t outputColumns) const {
    return {granularity != 0 ? granularity
                             : (outputColumns > 0 ? outputColumns : 1),
            order};
  }
};

/// The conventions of known producers. "trtllm_gen" is the interleaving before
/// trtllmShuffledRow.
inline constexpr std::array<NamedGateLayout, 9> kGateLayouts = {{
    {"gpt_oss", 1, GateOrder::GateFirst},
    {"triton_kernels", 1, GateOrder::GateFirst},
    {"deepgemm_mega", 8, GateOrder::GateFirst},
    {"flashinfer_mega", 16, GateOrder::GateFirst},
    {"cudnn", 32, GateOrder::GateFirst},
    {"cutedsl", 64, GateOrder::UpFirst},
    {"vllm", 0, GateOrder::GateFirst},
    {"trtllm_cutlass", 0, GateOrder::UpFirst},
    {"trtllm_gen", 1, GateOrder::UpFirst},
}};

/// The convention called `name`, or nothing.
constexpr std::optional<NamedGateLayout> findGateLayout(std::string_view name) {
  for (const NamedGateLayout &row : kGateLayouts)
    if (row.name == name)
      return row;
  return std::nullopt;
}

/// The row of a weight in layout `from` that becomes row `row` in layout `to`.
constexpr int64_t relayoutGateSource(const GateLayout &from,
                                     const GateLayout &to, int64_t row) {
  int64_t c = to.column(row);
  return to.isGateRow(row) ? from.gateRow(c) : from.upRow(c);
}

/// Fills source[row] with relayoutGateSource for all rows. False when one of
/// the layouts does not divide source.size() rows.
[[nodiscard]] constexpr bool gatePermutation(const GateLayout &from,
                                             const GateLayout &to,
                                             std::span<int64_t> source) {
  int64_t rows = static_cast<int64_t>(source.size());
  if (!from.divides(rows) || !to.divides(rows))
    return false;
  for (int64_t row = 0; row < rows; ++row)
    source[static_cast<uint64_t>(row)] = relayoutGateSource(from, to, row);
  return true;
}

/// Where trtllm-gen's shuffle puts row `row`, within blocks of `block` rows: 32
/// when the epilogue tile's M is a multiple of 128, 16 otherwise. Element
/// scales take the same permutation before they are blocked 128x4.
constexpr int64_t trtllmShuffledRow(int64_t row, int64_t block) {
  int64_t ways = block / 8;
  int64_t r = row % block;
  return row - r + r % ways * 8 + r / ways;
}

} // namespace nvfp4::format

#endif // NVFP4_FORMAT_GATELAYOUT_H
