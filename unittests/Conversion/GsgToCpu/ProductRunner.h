//===- ProductRunner.h - one product, made, run and compared ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state of one run of a ProductCase. Its parts are in three files: the
// operands and the IR, the oracle in f64, and the run itself.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_UNITTESTS_CONVERSION_GSGTOCPU_PRODUCTRUNNER_H
#define NVFP4_UNITTESTS_CONVERSION_GSGTOCPU_PRODUCTRUNNER_H

#include "ProductCase.h"

namespace nvfp4::gsg::cpu {

/// A scaled tensor in memory: `batches` matrices of rows x length.
struct Scaled {
  Buffer *data, *scales;
  std::string type;
  format::BlockFormat format;
  format::ScaleMatrix matrix;
  int64_t rowBytes, rows;

  int64_t codeIndex(int64_t batch, int64_t row) const {
    return (batch * rows + row) * rowBytes;
  }
  double code(int64_t batch, int64_t row, int64_t k) const {
    const uint8_t *bytes = data->bytes() + codeIndex(batch, row);
    if (format::elementBits(format) == 8)
      return format::decodeElement(format::elementKind(format), bytes[k]);
    return format::decodeE2M1(k % 2 ? bytes[k / 2] >> 4 : bytes[k / 2] & 15);
  }
  uint8_t &scale(int64_t batch, int64_t row, int64_t column) const {
    return scales
        ->bytes()[batch * matrix.totalBytes() + matrix.offset(row, column)];
  }
  std::string operand() const {
    return "%" + data->name + " scaled_by %" + scales->name + " : " +
           data->type + ", " + scales->type + " as " + type;
  }
};

/// Makes the operands of one case, its IR, runs it and compares the results.
/// Groups are g, rows of a group m, rows of the weights n, columns of y c; a
/// global row counts through all groups.
class ProductRunner {
public:
  ProductRunner(const ProductCase &p, const RunOptions &options)
      : p(p), options(options) {}
  /// The bytes of all results; differences are reported through GoogleTest.
  std::vector<uint8_t> run();

private:
  using Kind = GroupingKind;
  Scaled makeScaled(std::string name, int64_t batches, int64_t rows,
                    int64_t length, ScaleLayout layout, GroupStart start,
                    int64_t scaleRows, int64_t scaleColumns,
                    format::BlockFormat format);
  void makeGroups();
  void makeOperands();
  std::string makeModule();
  void compare();
  /// The product alone, then z, then y.
  double accumulate(int64_t g, int64_t m, int64_t n);
  double preActivation(int64_t g, int64_t m, int64_t n);
  double result(int64_t g, int64_t m, int64_t c);
  void compareQuantized(std::vector<double> &y);

  int64_t groupCount() const {
    return p.kind == Kind::Dense ? 1 : static_cast<int64_t>(p.sizes.size());
  }
  bool batched() const {
    return p.kind == Kind::Batched || p.kind == Kind::Masked;
  }
  int64_t rowsOf(int64_t g) const {
    bool ragged = p.kind == Kind::RaggedRows || p.kind == Kind::Masked;
    return ragged ? p.sizes[g] : p.rows;
  }
  int64_t depthOf(int64_t g) const {
    return p.kind == Kind::RaggedK ? p.sizes[g] : p.depth;
  }
  int64_t globalRow(int64_t g, int64_t m) const {
    return (p.kind == Kind::RaggedRows ? starts[g] : g * p.rows) + m;
  }
  int64_t small() { return static_cast<int64_t>(random() % 9) - 4; }
  double readReal(const std::string &type, const Buffer &buffer, int64_t i);

  const ProductCase &p;
  RunOptions options;
  std::mt19937 random{12345};
  Arguments args;
  std::vector<int64_t> starts, scaleStarts, outScaleStarts;
  int64_t totalRows = 0, totalDepth = 0, scaleExtent = 0, outScaleExtent = 0;
  int64_t outColumns = 0;
  Scaled lhs{}, quantized{};
  std::vector<Scaled> rhs;
  Buffer *alpha = nullptr, *bias = nullptr, *prob = nullptr, *addend = nullptr,
         *beta = nullptr, *out = nullptr, *preact = nullptr, *amax = nullptr,
         *groups = nullptr;
  std::vector<uint8_t> before;
};

} // namespace nvfp4::gsg::cpu

#endif // NVFP4_UNITTESTS_CONVERSION_GSGTOCPU_PRODUCTRUNNER_H
