//===- KernelSpec.h - what a CPU kernel is made for -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names one CPU kernel (instruction set, element kinds, scale) and derives from
// it the sizes that callers must allocate. The arithmetic is one definition for
// every instruction set; see KernelSpec.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_GSGTOCPU_KERNEL_KERNELSPEC_H
#define NVFP4_CONVERSION_GSGTOCPU_KERNEL_KERNELSPEC_H

#include "nvfp4/Format/BlockFormat.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace nvfp4::gsg::cpu {

/// The instruction sets that kernels are emitted for. All give the same bits.
enum class Isa {
  /// Vector and arith operations only; any CPU.
  Generic,
  /// x86-64-v3: vpmaddubsw and vpmaddwd on 256-bit registers.
  AVX2,
  /// AVX-512 F/BW/DQ/VL with VBMI and VNNI: vpdpbusd and vpermb.
  AVX512VNNI,
  /// The same with vdpbf16ps, for rows of bf16.
  AVX512BF16,
  /// AMX with BF16, and AVX-512 FP16, for E2M1 operands with many rows.
  AMX,
};

/// "generic", "avx2", "avx512vnni", "avx512bf16" or "amx".
llvm::StringRef stringify(Isa isa);

/// The Isa called `name`, or nothing.
std::optional<Isa> parseIsa(llvm::StringRef name);

/// The best Isa that this process may use on its CPU.
Isa detectHostIsa();

/// The fastest without AMX on a CPU of which `best` is the best: see
/// PairSpeed.h.
Isa findFastestUntiled(Isa best);

/// Rows of A that are numbers of 16 bits instead of elements with scales.
enum class PlainRows { None, BF16, F16 };

/// One kernel: D[m, n] = sum over K of A[m, k] * B[n, k] with a scale per block
/// of `blockSize` elements along K on both sides.
///
/// The result is defined to the bit. Per output element acc starts at +0; for
/// the blocks b in K order
///   UE4M3 scales:  acc = fma(P, sA * sB, acc)
///   E8M0 scales:   acc = fma(P * sA, sB, acc)
/// where P is the block's sum of products: exact for two E2M1 operands, else
/// the chain P = fma(a[k], b[k], P) from +0, in K order if A has scales, else
/// in the order of vdpbf16ps, k = 1, 0, 3, 2, 5, 4, ...; each operation rounds
/// once to f32. Elements past the end of K count as +0, and blocks past it do
/// not exist. A UE4M3 scale of 0x7F or with its top bit set, and an E8M0 scale
/// of 0xFF, is NaN. P * sA overflows for block sums above 2^127 / sA, which
/// needs an E8M0 code above 243 on the activation side. Rows without scales
/// have sA = 1, and P overflows for rows of bf16 near the end of f32's range.
/// The default floating-point environment is assumed (subnormals are not
/// flushed).
///
/// With `scaleWeights` and rows without scales, acc itself is the chain, over
/// all of K: acc = fma(a[k], b[k] * sB, acc), whose products b[k] * sB of E2M1
/// and UE4M3 are exact, in bf16 too.
///
/// vdpbf16ps does flush subnormals. With E2M1 weights there are none, neither
/// products nor sums, if all elements of A are zero or at least kLeastPaired:
/// they are multiples of 2^-116 and weights of 2^-10, so everything is a
/// multiple of 2^-126. Rows with smaller elements go another way, by f32 fma.
///
/// tdpbf16ps adds the products of a tile's K to +0 and their sum to acc, also
/// without subnormals. With two E2M1 operands, one block as the K of a tile and
/// the scales multiplied into the elements, the inner sum is P * sA * sB,
/// exact, and its addition to acc is the one rounding of the definition.
/// Elements times scales are exact in bf16, UE4M3 scales as they are and E8M0
/// scales between 2^-kTileExponent and 2^kTileExponent; others become NaN, as
/// those do that are NaN. See isTiled.
struct KernelSpec {
  /// AVX512BF16 and AMX only where a kernel uses what they add.
  Isa isa = Isa::Generic;
  /// Kind of A, the activations, unless they are `rows`.
  format::ElementKind activation = format::ElementKind::E2M1;
  /// Kind of B, the weights.
  format::ElementKind weight = format::ElementKind::E2M1;
  format::ScaleKind scale = format::ScaleKind::UE4M3;
  /// 16 or 32.
  int64_t blockSize = 16;
  PlainRows rows = PlainRows::None;
  bool scaleWeights = false;

  /// The kernel for such rows.
  static KernelSpec get(Isa isa, PlainRows rows, format::BlockFormat weight);
  /// The kernel for two operands, or nothing unless both have the same kind of
  /// scale and the same block size.
  static std::optional<KernelSpec> get(Isa isa, format::BlockFormat activation,
                                       format::BlockFormat weight);

  /// Whether pairs can multiply on a CPU that has them: rows of bf16 by NVFP4
  /// and MXFP4.
  bool hasPairs() const;
  /// Whether the weights are NVFP4 or MXFP4.
  bool hasCommonWeights() const;
  /// Whether tiles of AMX multiply. With E8M0 scales a NaN in the result then
  /// says no more than that another kernel must compute it.
  bool isTiled() const { return isa == Isa::AMX; }
  /// The same without AMX, for few rows.
  KernelSpec withoutTiles() const;
  /// The same without pairs, for CPUs on which they are slow.
  KernelSpec withoutPairs() const;
  /// Whether `scaleWeights` is possible.
  bool canScaleWeights() const;

  /// Symbol prefix of the kernel's functions, unique per spec.
  std::string name() const;

  bool operator==(const KernelSpec &) const = default;
};

/// Columns (rows of B) that one tile call computes.
inline constexpr int64_t kPanelColumns = 64;

/// Elements of K handled as a unit; operands are padded to it with zeros.
inline constexpr int64_t kStep = 32;

/// Elements of K whose scales are decoded at a time where weights are decoded
/// in registers, and how far ahead these are fetched.
inline constexpr int64_t kFusedChunk = 1024;

/// The bits of bf16 2^-109, see KernelSpec.
inline constexpr int64_t kLeastPaired = 0x0900;

/// Rows of a group from which on kernels that scale weights are worth it.
inline constexpr int64_t kManyRows = 64;

/// The same for tiles of AMX.
inline constexpr int64_t kTiledRows = 32;

/// See KernelSpec.
inline constexpr int64_t kTileExponent = 55;

/// With UE4M3 scales, A carries this power of two in tiles and B its inverse.
inline constexpr int64_t kTileBias = 112;

/// What integer block sums are added to where they are f32: a unit in the last
/// place is 1 around it.
inline constexpr float kSumOffset = 0x1.8p23f;

/// Tile shapes and buffer sizes of a kernel.
class KernelPlan {
public:
  explicit KernelPlan(const KernelSpec &spec);

  const KernelSpec &getSpec() const { return spec; }
  /// Whether block sums are integer dot products.
  bool usesIntegers() const { return route == Route::Integers; }
  /// Whether these come as the bits of the f32 kSumOffset + sum, to which the
  /// bias of prepared rows takes them. With E8M0 scales kSumOffset times a
  /// scale may be beyond f32.
  bool hasFloatSums() const {
    return usesIntegers() && spec.scale == format::ScaleKind::UE4M3;
  }
  /// Whether they are dot products of pairs of bf16.
  bool usesPairs() const { return route == Route::Pairs; }
  /// Whether AMX adds up scaled elements.
  bool usesTiles() const { return route == Route::Tiles; }
  /// Whether they are chains of f32 fma.
  bool usesFloats() const { return route == Route::Floats; }
  /// Columns in one vector register.
  int64_t getLanes() const { return lanes; }
  /// Vector registers of columns in one micro-tile.
  int64_t getGroups() const { return groups; }
  /// Columns decoded together.
  int64_t getSetColumns() const { return lanes * groups; }
  /// Rows of one full tile of prepared rows. A tile call may start at any row
  /// that is a multiple of it.
  int64_t getTileRows() const { return rowVariants.back(); }
  /// Row counts that have code of their own, ascending; others round up.
  llvm::ArrayRef<int64_t> getRowVariants() const { return rowVariants; }
  /// Elements of K decoded at a time.
  int64_t getChunk() const { return chunk; }
  /// Vector registers of columns in a panel.
  int64_t getPanelGroups() const { return kPanelColumns / lanes; }
  /// Blocks in one step of K.
  int64_t getBlocksPerStep() const { return kStep / spec.blockSize; }
  /// Bytes of a decoded weight.
  int64_t getPanelElementBytes() const;
  /// Bytes from the weights of a step to those of the next; of tiles, within a
  /// vector register of columns, and from one such register to the next.
  int64_t getPanelStepBytes() const;
  int64_t getPanelGroupBytes() const { return lanes * chunk * 2; }
  /// Bytes of one prepared row and one block, and one step of K.
  int64_t getRowBlockBytes() const;
  int64_t getPreparedStepBytes() const {
    return getBlocksPerStep() * getRowBlockBytes();
  }
  /// Bytes of kStep packed elements of a weight row or an activation row.
  static int64_t getStepBytes(format::ElementKind kind);
  /// The same of a row of A.
  int64_t getRowStepBytes() const;

  /// `rows` with the last tile rounded up to a row variant.
  int64_t getPaddedRows(int64_t rows) const;
  /// Bytes that prepareRows writes.
  int64_t getPreparedBytes(int64_t rows, int64_t k) const;
  /// Bytes of the accumulator of a tile call, f32 [padded rows][64].
  int64_t getAccumulatorBytes(int64_t rows) const;
  /// Byte offset of the tile of prepared rows that starts at `row`.
  int64_t getPreparedOffset(int64_t row, int64_t k) const;
  /// Bytes of the work buffer of a tile call.
  int64_t getScratchBytes() const;

  /// Parts of the work buffer after the decoded weights, which it starts with,
  /// as byte offsets: scales as f32, raw scale words, one staged step and its
  /// column offsets, the columns of groups.
  int64_t getScaleOffset() const;
  int64_t getWordOffset() const;
  int64_t getStageOffset() const;
  int64_t getStageOffsetsOffset() const;
  int64_t getGroupOffsetsOffset() const;

private:
  /// Scales that are decoded at a time.
  int64_t getScalesAtATime() const;

  enum class Route { Integers, Pairs, Floats, Tiles };

  KernelSpec spec;
  Route route;
  int64_t lanes, groups, chunk;
  llvm::ArrayRef<int64_t> rowVariants;
};

} // namespace nvfp4::gsg::cpu

#endif // NVFP4_CONVERSION_GSGTOCPU_KERNEL_KERNELSPEC_H
