//===- ProductOperands.cpp - the operands and the IR of a product ---------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fills buffers with values of few bits, so that sums in f32 are exact in any
// order. Scales of blocks that no group owns stay NaN, destinations poisoned.
//
//===----------------------------------------------------------------------===//

#include "ProductRunner.h"

#include "nvfp4/Format/Float16.h"

#include <cstring>

namespace nvfp4::gsg::cpu {

static format::ScaleLayout formatLayout(ScaleLayout layout) {
  return layout == ScaleLayout::Linear    ? format::ScaleLayout::Linear
         : layout == ScaleLayout::Blocked ? format::ScaleLayout::Blocked128x4
                                          : format::ScaleLayout::Blocked8x4;
}

static std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text;
  for (int64_t extent : shape)
    text += std::to_string(extent) + "x";
  return text;
}

Scaled ProductRunner::makeScaled(std::string name, int64_t batches,
                                 int64_t rows, int64_t length,
                                 ScaleLayout layout, GroupStart start,
                                 int64_t scaleRows, int64_t scaleColumns,
                                 format::BlockFormat format) {
  Scaled s;
  s.format = format;
  s.rows = rows;
  s.rowBytes = format::rowBytes(format, length);
  s.matrix = {formatLayout(layout), scaleRows, scaleColumns};
  std::vector<int64_t> batch;
  if (batches >= 0)
    batch.push_back(batches);
  bool fp4 = format::elementBits(format) == 4;
  std::vector<int64_t> shape = batch;
  shape.insert(shape.end(), {rows, s.rowBytes});
  std::string element = format == format::BlockFormat::MXFP8_E4M3 ? "f8E4M3FN"
                        : fp4                                     ? "i8"
                                                                  : "f8E5M2";
  bool dynamic = p.kind == Kind::RaggedRows && name == "a";
  s.data = &args.add(name, shape, element, 1, dynamic);
  std::vector<int64_t> scaleShape = batch;
  const format::ScaleMatrix &m = s.matrix;
  if (layout == ScaleLayout::Linear)
    scaleShape.insert(scaleShape.end(), {m.rows, m.columns});
  else if (layout == ScaleLayout::Blocked)
    scaleShape.insert(scaleShape.end(),
                      {m.paddedRows() / 128, m.paddedColumns() / 4, 32, 4, 4});
  else
    scaleShape.insert(scaleShape.end(),
                      {m.paddedRows() / 8, m.paddedColumns() / 4, 8, 4});
  bool e8m0 = format::scaleKind(format) == format::ScaleKind::E8M0;
  s.scales = &args.add(name + "s", scaleShape, e8m0 ? "f8E8M0FNU" : "f8E4M3FN",
                       1, dynamic);
  s.type = "!grouped_scaled_gemm.scaled<" + shapeText(batch) +
           (dynamic ? "?x" : std::to_string(rows) + "x") +
           std::to_string(length) + ", " +
           std::string(format::stringify(format));
  if (layout != ScaleLayout::Linear)
    s.type += ", " + stringifyScaleLayout(layout).str();
  if (start != GroupStart::Whole)
    s.type += ", starts = " + stringifyGroupStart(start).str();
  s.type += ">";
  // All codes of E2M1; of the others values with few bits.
  for (int64_t i = 0; i < s.data->byteCount(); ++i)
    s.data->bytes()[i] = fp4 ? static_cast<uint8_t>(random())
                         : format == format::BlockFormat::MXFP8_E4M3
                             ? format::encodeE4M3(static_cast<float>(small()))
                             : format::encodeE5M2(static_cast<float>(small()));
  return s;
}

void ProductRunner::makeGroups() {
  int64_t tile = p.lhsLayout == ScaleLayout::Linear    ? 1
                 : p.lhsLayout == ScaleLayout::Blocked ? 128
                                                       : 8;
  int64_t outTile = p.outLayout == ScaleLayout::Linear    ? 1
                    : p.outLayout == ScaleLayout::Blocked ? 128
                                                          : 8;
  int64_t block = format::blockSize(p.format);
  int64_t at = 0, packed = 0, outPacked = 0;
  auto roundUp = [](int64_t x, int64_t to) { return (x + to - 1) / to * to; };
  for (size_t g = 0; g < p.sizes.size(); ++g) {
    bool alongK = p.kind == Kind::RaggedK;
    at = roundUp(at, p.align);
    starts.push_back(at);
    auto place = [&](GroupStart start, int64_t unit, int64_t &sum,
                     int64_t count) {
      int64_t here = alongK ? at / block : at;
      if (start == GroupStart::Compact)
        here = sum;
      if (start == GroupStart::UpperBound)
        here = (at + (unit - 1) * static_cast<int64_t>(g)) / unit * unit;
      sum += roundUp(count, unit);
      return here;
    };
    int64_t count = alongK ? (p.sizes[g] + block - 1) / block : p.sizes[g];
    int64_t unit = alongK ? (p.lhsLayout == ScaleLayout::Linear ? 1 : 4) : tile;
    scaleStarts.push_back(place(p.start, unit, packed, count));
    outScaleStarts.push_back(place(p.outStart, outTile, outPacked, p.sizes[g]));
    scaleExtent = std::max(scaleExtent, scaleStarts.back() + count);
    outScaleExtent = std::max(outScaleExtent, outScaleStarts.back() + count);
    at += p.sizes[g];
  }
  if (p.kind == Kind::RaggedRows) {
    totalRows = at + p.spareRows;
    totalDepth = p.depth;
  } else {
    totalRows = groupCount() * p.rows;
    totalDepth = p.kind == Kind::RaggedK ? at + p.spareRows : p.depth;
  }
}

void ProductRunner::makeOperands() {
  makeGroups();
  int64_t count = groupCount();
  int64_t block = format::blockSize(p.format);
  int64_t blocks = (totalDepth + block - 1) / block;
  outColumns = p.gate ? p.columns / 2 : p.columns;
  if (p.kind == Kind::RaggedRows || p.kind == Kind::RaggedK) {
    bool ends = p.offsets == OffsetsKind::Ends;
    groups = &args.add("groups", {count + (ends ? 0 : 1)},
                       p.wideOffsets ? "i64" : "i32", p.wideOffsets ? 8 : 4);
    for (int64_t g = 0; g < groups->count; ++g) {
      int64_t last = starts.empty() ? 0 : starts.back() + p.sizes.back();
      int64_t value = ends         ? starts[g] + p.sizes[g]
                      : g == count ? last
                                   : starts[g];
      if (p.wideOffsets)
        groups->as<int64_t>()[g] = value;
      else
        groups->as<int32_t>()[g] = static_cast<int32_t>(value);
    }
  } else if (p.kind == Kind::Masked) {
    groups = &args.add("groups", {count}, "i32", 4);
    for (int64_t g = 0; g < count; ++g)
      groups->as<int32_t>()[g] = static_cast<int32_t>(p.sizes[g]);
  }
  bool whole = p.start == GroupStart::Whole;
  int64_t lhsRows = p.kind == Kind::RaggedRows ? totalRows : p.rows;
  int64_t scaleRows =
      p.kind == Kind::RaggedRows && !whole ? scaleExtent : lhsRows;
  int64_t scaleColumns =
      p.kind == Kind::RaggedK && !whole ? scaleExtent : blocks;
  lhs = makeScaled("a", batched() ? count : -1, lhsRows, totalDepth,
                   p.lhsLayout, p.start, scaleRows, scaleColumns, p.format);
  bool stacked = p.kind != Kind::Dense && p.kind != Kind::RaggedK;
  GroupStart rhsStart = p.kind == Kind::RaggedK ? p.start : GroupStart::Whole;
  int64_t numRhs = stacked && p.discrete ? count : 1;
  for (int64_t i = 0; i < numRhs; ++i)
    rhs.push_back(makeScaled("b" + std::to_string(i),
                             stacked && !p.discrete ? count : -1, p.columns,
                             totalDepth, p.rhsLayout, rhsStart, p.columns,
                             scaleColumns, p.weightFormat.value_or(p.format)));
  // Only the scales of existing blocks are numbers.
  bool e8m0 = format::scaleKind(p.format) == format::ScaleKind::E8M0;
  bool shiftsOne = p.shiftedRow >= 0 || p.shiftedColumn >= 0;
  auto draw = [&](int64_t block, int sign, bool isChosen) {
    int shift = 0;
    if (e8m0 && shiftsOne)
      shift = isChosen ? p.scaleShift : 0;
    else if (e8m0)
      shift = block % 2 ? sign * p.scaleShift : 0;
    return static_cast<uint8_t>(
        (e8m0 ? 127 + random() % 2 : 0x38 + random() % 2 * 8) + shift);
  };
  for (int64_t g = 0; g < count; ++g) {
    bool alongK = p.kind == Kind::RaggedK;
    int64_t first = alongK ? scaleStarts[g] : 0;
    int64_t used = (depthOf(g) + block - 1) / block;
    for (int64_t j = 0; j < used; ++j) {
      for (int64_t m = 0; m < rowsOf(g); ++m)
        lhs.scale(batched() ? g : 0,
                  (p.kind == Kind::RaggedRows ? scaleStarts[g] : 0) + m,
                  first + j) = draw(j, 1, m == p.shiftedRow && g + 1 == count);
      for (int64_t n = 0; n < p.columns; ++n)
        rhs[numRhs > 1 ? g : 0].scale(stacked && !p.discrete ? g : 0, n,
                                      first + j) =
            draw(j, -1, n == p.shiftedColumn);
    }
  }
  auto reals = [&](const char *name, std::vector<int64_t> shape, double unit) {
    Buffer &b = args.add(name, std::move(shape), "f32", 4);
    for (int64_t i = 0; i < b.count; ++i)
      b.as<float>()[i] =
          static_cast<float>(static_cast<double>(small()) * unit);
    return &b;
  };
  if (p.alpha)
    alpha = reals("alpha",
                  p.alpha == 1   ? std::vector<int64_t>{}
                  : p.alpha == 2 ? std::vector<int64_t>{count}
                                 : std::vector<int64_t>{count, 2},
                  p.tolerance > 0 ? 0x1p-8 : 0.25);
  if (p.bias == 1) {
    bias = &args.add("bias", {p.columns}, "bf16", 2);
    for (int64_t i = 0; i < bias->count; ++i)
      bias->as<uint16_t>()[i] =
          format::f32ToBF16(static_cast<float>(small()) * 0.5f);
  } else if (p.bias == 2) {
    bias = reals("bias", {count, p.columns}, 0.5);
  }
  if (!p.prob.empty())
    prob = reals("prob", {totalRows}, 0.5);
  std::vector<int64_t> outer = {totalRows};
  if (batched() || p.kind == Kind::RaggedK)
    outer = {count, p.rows};
  auto shapeOf = [&](int64_t width) {
    std::vector<int64_t> shape = outer;
    shape.push_back(width);
    return shape;
  };
  if (p.beta)
    beta = reals("beta", {count}, 0.5);
  if (p.addend)
    addend = reals("addend", shapeOf(p.columns), 1.0);
  bool dynamic = p.kind == Kind::RaggedRows;
  if (p.preact)
    preact = &args.add("preact", shapeOf(p.columns), "f32", 4, dynamic);
  if (p.quantizer) {
    bool ragged = p.kind == Kind::RaggedRows;
    quantized = makeScaled(
        "q", ragged || p.kind == Kind::Dense ? -1 : count,
        ragged ? totalRows : p.rows, outColumns, p.outLayout, p.outStart,
        ragged && p.outStart != GroupStart::Whole ? outScaleExtent
        : ragged                                  ? totalRows
                                                  : p.rows,
        format::scaleColumns(p.format, outColumns), p.format);
    if (ragged) {
      // The result shares its dynamic extent with the activations.
      std::string text = std::to_string(totalRows) + "x";
      size_t at = quantized.type.find("<" + text);
      quantized.type.replace(at + 1, text.size(), "?x");
    }
    std::memset(quantized.data->bytes(), 0xEE, quantized.data->byteCount());
    std::memset(quantized.scales->bytes(), 0xEE, quantized.scales->byteCount());
  } else {
    int64_t bytes = p.out == "f32" ? 4 : 2;
    out = &args.add("out", shapeOf(outColumns), p.out, bytes, dynamic);
    if (p.beta && !p.addend)
      for (int64_t i = 0; i < out->count; ++i) {
        auto value = static_cast<float>(small());
        if (p.out == "f32")
          out->as<float>()[i] = value;
        else
          out->as<uint16_t>()[i] = p.out == "bf16" ? format::f32ToBF16(value)
                                                   : format::f32ToF16(value);
      }
    before.assign(out->bytes(), out->bytes() + out->byteCount());
  }
  if (p.amax)
    amax = &args.add("amax", {count}, "f32", 4);
}

std::string ProductRunner::makeModule() {
  auto use = [](const char *keyword, const Buffer *buffer) {
    return buffer ? std::string(" ") + keyword + "(%" + buffer->name + " : " +
                        buffer->type + ")"
                  : std::string();
  };
  std::string grouping = stringifyGroupingKind(p.kind).str();
  if (p.kind == Kind::RaggedRows || p.kind == Kind::RaggedK) {
    grouping += ", " + stringifyOffsetsKind(p.offsets).str();
    if (p.align != 1)
      grouping += ", align = " + std::to_string(p.align);
  }
  std::string text = "func.func @f(" + args.signature() +
                     ") attributes {llvm.emit_c_interface} {\n";
  if (p.alpha == 1)
    text += "%scalar = memref.load %alpha[] : memref<f32>\n";
  text += "grouped_scaled_gemm.matmul <" + grouping + ">";
  text += use("groups", groups);
  text += " lhs(" + lhs.operand() + ") rhs(";
  for (size_t i = 0; i < rhs.size(); ++i)
    text += (i ? ", " : "") + rhs[i].operand();
  text += ")";
  text += p.alpha == 1 ? " alpha(%scalar : f32)" : use("alpha", alpha);
  text += use("beta", beta) + use("addend", addend) + use("bias", bias);
  if (prob)
    text += use("prob", prob) + " at " + p.prob;
  if (!p.activation.empty())
    text += " activation = " + p.activation;
  text += " " + p.custom;
  if (p.quantizer) {
    std::string name =
        stringifyQuantizerKind(static_cast<QuantizerKind>(*p.quantizer)).str();
    text += " quantizer = <" + name + ">";
  }
  text += use("preact_outs", preact);
  if (p.quantizer)
    text += " outs(" + quantized.operand() + ")";
  else
    text += use("outs", out);
  text += use("amax_outs", amax);
  if (p.zeroTail)
    text += " {tail = #grouped_scaled_gemm<tail zero>}";
  return text + "\nreturn\n}\n";
}

} // namespace nvfp4::gsg::cpu
