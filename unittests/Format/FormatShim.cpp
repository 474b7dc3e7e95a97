//===- FormatShim.cpp - the formats for test/python -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A C surface over Format that the Python tests load with ctypes, so that the
// C++ casts are compared with ml_dtypes and numpy. Not an interface for users.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Format/Float16.h"
#include "nvfp4/Format/GateLayout.h"
#include "nvfp4/Format/Hadamard.h"
#include "nvfp4/Format/Philox.h"
#include "nvfp4/Format/Quantizer.h"

#include <algorithm>
#include <cstring>

using namespace nvfp4::format;

namespace {

/// Copies a diagnostic; returns 0 for none.
int report(const std::string &message, char *buffer, int64_t size) {
  if (size > 0) {
    size_t count = std::min(message.size(), static_cast<size_t>(size - 1));
    std::memcpy(buffer, message.data(), count);
    buffer[count] = 0;
  }
  return message.empty() ? 0 : 1;
}

} // namespace

extern "C" {

#define NVFP4_SHIM_CAST(NAME, FROM, TO, CALL)                                  \
  void nvfp4_##NAME(const FROM *in, TO *out, int64_t count) {                  \
    for (int64_t i = 0; i < count; ++i)                                        \
      out[i] = CALL;                                                           \
  }
NVFP4_SHIM_CAST(decode_e2m1, uint8_t, float, decodeE2M1(in[i]))
NVFP4_SHIM_CAST(decode_e4m3, uint8_t, float, decodeE4M3(in[i]))
NVFP4_SHIM_CAST(decode_e5m2, uint8_t, float, decodeE5M2(in[i]))
NVFP4_SHIM_CAST(decode_e8m0, uint8_t, float, decodeE8M0(in[i]))
NVFP4_SHIM_CAST(decode_bf16, uint16_t, float, bf16ToF32(in[i]))
NVFP4_SHIM_CAST(decode_f16, uint16_t, float, f16ToF32(in[i]))
NVFP4_SHIM_CAST(encode_e2m1, float, uint8_t, encodeE2M1(in[i]))
NVFP4_SHIM_CAST(encode_e4m3, float, uint8_t, encodeE4M3(in[i]))
NVFP4_SHIM_CAST(encode_e5m2, float, uint8_t, encodeE5M2(in[i]))
NVFP4_SHIM_CAST(encode_e5m2_sat, float, uint8_t, encodeE5M2Saturating(in[i]))
NVFP4_SHIM_CAST(encode_e8m0_nearest, float, uint8_t,
                encodeE8M0(in[i], RoundE8M0::Nearest))
NVFP4_SHIM_CAST(encode_e8m0_up, float, uint8_t,
                encodeE8M0(in[i], RoundE8M0::Up))
NVFP4_SHIM_CAST(encode_e8m0_down, float, uint8_t,
                encodeE8M0(in[i], RoundE8M0::Down))
NVFP4_SHIM_CAST(encode_bf16, float, uint16_t, f32ToBF16(in[i]))
NVFP4_SHIM_CAST(encode_f16, float, uint16_t, f32ToF16(in[i]))

void nvfp4_encode_e2m1_stochastic(const float *in, const float *u, uint8_t *out,
                                  int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = encodeE2M1Stochastic(in[i], u[i]);
}

void nvfp4_philox_uniform(uint64_t seed, uint64_t offset, uint64_t first,
                          float *out, int64_t count) {
  Philox random{seed, offset};
  for (int64_t i = 0; i < count; ++i)
    out[i] = random.uniform(first + static_cast<uint64_t>(i));
}

/// The options of nvfp4_quantize; mirrored in test/python/format_shim.py.
struct ShimOptions {
  int32_t quantizer, format, layout, rounding;
  int32_t negativeZero; // -1: the quantiser's own
  int32_t blockError, square;
  float globalScale, amaxFloor;
  uint64_t seed, offset;
};

int nvfp4_quantize(const ShimOptions *o, const float *x, int64_t rows,
                   int64_t columns, uint8_t *codes, int64_t codeBytes,
                   uint8_t *scales, int64_t scaleBytes, char *message,
                   int64_t messageSize) {
  QuantizeParams p;
  p.format = static_cast<BlockFormat>(o->format);
  p.globalScale = o->globalScale;
  p.rounding = static_cast<ElementRounding>(o->rounding);
  if (o->negativeZero >= 0)
    p.negativeZero = static_cast<NegativeZero>(o->negativeZero);
  p.blockError = static_cast<BlockError>(o->blockError);
  p.amaxFloor = o->amaxFloor;
  p.seed = o->seed;
  p.offset = o->offset;
  ScaleMatrix s{static_cast<ScaleLayout>(o->layout), rows,
                scaleColumns(p.format, columns)};
  return report(
      quantizeMatrix(static_cast<Quantizer>(o->quantizer), p,
                     {x, rows, columns, columns},
                     {codes, static_cast<size_t>(codeBytes)}, s,
                     {scales, static_cast<size_t>(scaleBytes)},
                     o->square ? ScaleExtent::Square : ScaleExtent::Row),
      message, messageSize);
}

int nvfp4_dequantize(const ShimOptions *o, int64_t rows, int64_t columns,
                     const uint8_t *codes, int64_t codeBytes,
                     const uint8_t *scales, int64_t scaleBytes, double *out,
                     char *message, int64_t messageSize) {
  auto format = static_cast<BlockFormat>(o->format);
  ScaleMatrix s{static_cast<ScaleLayout>(o->layout), rows,
                scaleColumns(format, columns)};
  return report(dequantizeMatrix(format, rows, columns,
                                 {codes, static_cast<size_t>(codeBytes)}, s,
                                 {scales, static_cast<size_t>(scaleBytes)},
                                 o->globalScale,
                                 {out, static_cast<size_t>(rows * columns)}),
                message, messageSize);
}

/// -1 for a name that no quantiser, format or layout has.
int nvfp4_parse(const char *kind, const char *name) {
  std::string_view k = kind;
  if (k == "quantizer")
    if (auto q = parseQuantizer(name))
      return static_cast<int>(*q);
  if (k == "format")
    if (auto f = parseBlockFormat(name))
      return static_cast<int>(*f);
  if (k == "layout")
    if (auto l = parseScaleLayout(name))
      return static_cast<int>(*l);
  return -1;
}

int64_t nvfp4_scale_bytes(int layout, int64_t rows, int64_t columns) {
  return ScaleMatrix{static_cast<ScaleLayout>(layout), rows, columns}
      .totalBytes();
}

void nvfp4_gate_rows(int64_t q, int upFirst, int64_t columns, int64_t *gate,
                     int64_t *up) {
  GateLayout layout{q, upFirst ? GateOrder::UpFirst : GateOrder::GateFirst};
  for (int64_t c = 0; c < columns; ++c) {
    gate[c] = layout.gateRow(c);
    up[c] = layout.upRow(c);
  }
}

int nvfp4_hadamard(float *x, int64_t count, int normalized, int signMask) {
  return hadamard16Rows(std::span<float>(x, static_cast<size_t>(count)),
                        {normalized != 0, static_cast<uint16_t>(signMask)});
}

} // extern "C"
