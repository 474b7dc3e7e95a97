//===- Accumulate.h - matrix multiplication with selectable accumulation --===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// D = A * B^T + C for one instruction's tile, in the accumulation models of
// docs/Simulator.md. Operands are element codes; layouts are elsewhere.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_TENSORCORE_ACCUMULATE_H
#define NVFP4_SIMULATOR_TENSORCORE_ACCUMULATE_H

#include "nvfp4/Simulator/Machine/Launch.h"
#include "nvfp4/Simulator/TensorCore/MmaTile.h"

#include <memory>
#include <vector>

namespace nvfp4::sim {

/// Multiplies one tile, row by row. Operands are decoded once, at construction.
class TileProduct {
public:
  /// With `f16Result` each result is rounded to f16. `tile` must outlive this.
  TileProduct(const MmaTile &tile, Accumulation mode, bool f16Result,
              VectorLevel level = bestVectorLevel());
  ~TileProduct();

  /// Adds the products of row `i` of A to `d`, the row of the accumulator
  /// (b.rows values).
  void addRow(unsigned i, float *d) const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// Adds the products to `d` (a.rows * b.rows, the accumulator as f32 values).
void accumulate(const MmaTile &tile, Accumulation mode, bool f16Result,
                std::vector<float> &d);

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_TENSORCORE_ACCUMULATE_H
