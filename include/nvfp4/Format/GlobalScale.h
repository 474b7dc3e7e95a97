//===- GlobalScale.h - per-tensor scales of checkpoints ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The second level of NVFP4 scaling: value = code * scale * G. Checkpoints
// store either the multiplier G or the encode scale S = 1/G, and a GLU weight
// may have different ones for gate and up.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_FORMAT_GLOBALSCALE_H
#define NVFP4_FORMAT_GLOBALSCALE_H

#include <cstdint>
#include <optional>
#include <span>

namespace nvfp4::format {

/// Meaning of a stored global scale.
enum class GlobalConvention {
  /// G, amax/2688: ModelOpt's weight_scale_2 and input_scale.
  Multiplier,
  /// S, 2688/amax: compressed-tensors' weight_global_scale and
  /// input_global_scale, FlashInfer's and vLLM's a_global_sf.
  Encode,
};

/// The multiplier that a stored global scale stands for. Exact for Multiplier,
/// correctly rounded for Encode. Nothing for a stored value that is not finite
/// and positive, or whose reciprocal is not.
std::optional<float> globalMultiplier(float stored, GlobalConvention stores);

/// GEMM alpha of two operands, G_a * G_b, in f64: one rounding is left to the
/// caller.
constexpr double gemmAlpha(float multiplierA, float multiplierB) {
  return static_cast<double>(multiplierA) * static_cast<double>(multiplierB);
}

/// Effects of rescaleUE4M3.
struct RescaleReport {
  /// Scales that were not zero and are now.
  int64_t underflows = 0;
  /// Largest |new - exact| / exact over the scales whose exact product is
  /// at least 2^-6, a normal number: below 2^-4. Subnormals may lose more.
  double maxRelativeError = 0;
};

/// Multiplies UE4M3 scales by `ratio`, 0 < ratio <= 1, and rounds each to
/// nearest even: the fallback that gives two halves with different multipliers
/// a common one (ratio = own / common). NaN scales stay NaN.
RescaleReport rescaleUE4M3(std::span<uint8_t> scales, double ratio);

/// The index of the first scale byte with the sign bit set, which is not a
/// UE4M3 number, or nothing.
std::optional<int64_t> findInvalidUE4M3(std::span<const uint8_t> scales);

} // namespace nvfp4::format

#endif // NVFP4_FORMAT_GLOBALSCALE_H
