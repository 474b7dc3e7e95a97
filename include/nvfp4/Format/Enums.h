//===- Enums.h - Enumerations that the dialect has as well -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Written by scripts/generate-enums from GroupedScaledGemmEnums.td.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_FORMAT_ENUMS_H
#define NVFP4_FORMAT_ENUMS_H

#include <optional>
#include <string_view>

namespace nvfp4::format {

/// Elements and the scales of their blocks.
enum class BlockFormat {
  NVFP4 = 0,
  MXFP4 = 1,
  NVFP4_E8M0 = 2,
  MXFP8_E4M3 = 3,
  MXFP8_E5M2 = 4,
};

/// The word of the case in IR and on command lines.
constexpr std::string_view stringify(BlockFormat value) {
  switch (value) {
  case BlockFormat::NVFP4:
    return "nvfp4";
  case BlockFormat::MXFP4:
    return "mxfp4";
  case BlockFormat::NVFP4_E8M0:
    return "nvfp4_e8m0";
  case BlockFormat::MXFP8_E4M3:
    return "mxfp8_e4m3";
  case BlockFormat::MXFP8_E5M2:
    return "mxfp8_e5m2";
  }
  return "";
}

/// The case of a word, or nothing.
constexpr std::optional<BlockFormat> parseBlockFormat(std::string_view word) {
  for (int number = 0; number < 5; ++number)
    if (stringify(static_cast<BlockFormat>(number)) == word)
      return static_cast<BlockFormat>(number);
  return std::nullopt;
}

/// Where the scales of group g start when groups of rows share one buffer.
enum class GroupStart {
  /// At the group's first row; groups start on the row alignment already.
  Whole = 0,
  /// At the sum of the padded row counts of the groups before it.
  Compact = 1,
  /// At a bound that needs only the group's first row and number, no scan:
  /// floor((firstRow + (T-1)*g) / T) * T with T the row alignment.
  UpperBound = 2,
};

/// The word of the case in IR and on command lines.
constexpr std::string_view stringify(GroupStart value) {
  switch (value) {
  case GroupStart::Whole:
    return "whole";
  case GroupStart::Compact:
    return "compact";
  case GroupStart::UpperBound:
    return "upper_bound";
  }
  return "";
}

/// The case of a word, or nothing.
constexpr std::optional<GroupStart> parseGroupStart(std::string_view word) {
  for (int number = 0; number < 3; ++number)
    if (stringify(static_cast<GroupStart>(number)) == word)
      return static_cast<GroupStart>(number);
  return std::nullopt;
}

/// Which of a block of gate rows and a block of up rows comes first.
enum class GateOrder {
  GateFirst = 0,
  UpFirst = 1,
};

/// The word of the case in IR and on command lines.
constexpr std::string_view stringify(GateOrder value) {
  switch (value) {
  case GateOrder::GateFirst:
    return "gate_first";
  case GateOrder::UpFirst:
    return "up_first";
  }
  return "";
}

/// The case of a word, or nothing.
constexpr std::optional<GateOrder> parseGateOrder(std::string_view word) {
  for (int number = 0; number < 2; ++number)
    if (stringify(static_cast<GateOrder>(number)) == word)
      return static_cast<GateOrder>(number);
  return std::nullopt;
}

/// The producers whose bytes can be reproduced. Section 4 of docs/Spec.md has
/// the formulas, and what becomes of zeros, NaN and infinity.
enum class Quantizer {
  Cutlass = 0,
  Trtllm = 1,
  TE = 2,
  ModelOpt = 3,
  Mega16 = 4,
  UE8M0Up = 5,
  OCP = 6,
  TritonNearest = 7,
  FourOverSix = 8,
};

/// The word of the case in IR and on command lines.
constexpr std::string_view stringify(Quantizer value) {
  switch (value) {
  case Quantizer::Cutlass:
    return "cutlass";
  case Quantizer::Trtllm:
    return "trtllm";
  case Quantizer::TE:
    return "te";
  case Quantizer::ModelOpt:
    return "modelopt";
  case Quantizer::Mega16:
    return "mega16";
  case Quantizer::UE8M0Up:
    return "ue8m0_up";
  case Quantizer::OCP:
    return "ocp";
  case Quantizer::TritonNearest:
    return "triton_nearest";
  case Quantizer::FourOverSix:
    return "four_over_six";
  }
  return "";
}

/// The case of a word, or nothing.
constexpr std::optional<Quantizer> parseQuantizer(std::string_view word) {
  for (int number = 0; number < 9; ++number)
    if (stringify(static_cast<Quantizer>(number)) == word)
      return static_cast<Quantizer>(number);
  return std::nullopt;
}

} // namespace nvfp4::format

#endif // NVFP4_FORMAT_ENUMS_H
