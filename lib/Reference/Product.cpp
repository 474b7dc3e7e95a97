//===- Product.cpp - Exact block-scaled dot products ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// FP4: the dot of a block is an integer (values times two are integers of at
// most 12), its product with two scales has at most 20 significand bits, and
// sums of such terms are exact in f64 while they stay below 2^53 units. FP8:
// products of two elements are exact in f64. Where sums may round, they are
// formed again with compensation.
//
//===----------------------------------------------------------------------===//

#include "Product.h"

#include <algorithm>
#include <climits>
#include <cmath>

namespace nvfp4::reference {
namespace {

/// The exponent of the lowest set bit of a finite, non-zero number.
int lowestBit(double x) {
  int exponent = 0;
  double fraction = std::frexp(x, &exponent);
  auto bits = static_cast<int64_t>(std::ldexp(std::fabs(fraction), 53));
  return exponent - 53 + __builtin_ctzll(static_cast<uint64_t>(bits));
}

/// The unit of zeros; two of them can be added.
constexpr int kNoUnit = 1 << 20;

/// Values of all codes and the exponents of their lowest bits.
struct CodeTable {
  double value[256];
  int unit[256];
};

CodeTable makeCodeTable(format::ElementKind kind) {
  CodeTable table;
  for (int code = 0; code < 256; ++code) {
    double value = format::decodeElement(kind, static_cast<uint8_t>(code));
    table.value[code] = value;
    table.unit[code] =
        value != 0 && std::isfinite(value) ? lowestBit(value) : kNoUnit;
  }
  return table;
}

struct DotResult {
  double sum = 0.0;
  /// The sum of the magnitudes of the terms that are added with rounding.
  double magnitude = 0.0;
};

/// FP4: where blocks are exact, the terms are the scaled sums of blocks.
template <int Block, ProductTerms Terms>
DotResult dotFP4(const int16_t *a, const double *sa, const int16_t *b,
                 const double *sb, int64_t blocks) {
  DotResult r;
  for (int64_t j = 0; j < blocks; ++j, a += Block, b += Block) {
    int32_t dot = 0, magnitude = 0;
    for (int k = 0; k < Block; ++k) {
      int32_t product = static_cast<int32_t>(a[k]) * static_cast<int32_t>(b[k]);
      dot += product;
      magnitude += Terms == ProductTerms::Elements ? std::abs(product) : 0;
    }
    double scale = sa[j] * sb[j];
    r.sum += dot * scale;
    r.magnitude +=
        (Terms == ProductTerms::Elements ? magnitude : std::abs(dot)) * scale;
  }
  // Codes were doubled on both sides.
  return {r.sum * 0.25, r.magnitude * 0.25};
}

DotResult dotFP4(const int16_t *a, const double *sa, const int16_t *b,
                 const double *sb, int64_t blocks, int64_t block,
                 ProductTerms terms) {
  if (terms == ProductTerms::Blocks)
    return block == 16 ? dotFP4<16, ProductTerms::Blocks>(a, sa, b, sb, blocks)
                       : dotFP4<32, ProductTerms::Blocks>(a, sa, b, sb, blocks);
  return block == 16 ? dotFP4<16, ProductTerms::Elements>(a, sa, b, sb, blocks)
                     : dotFP4<32, ProductTerms::Elements>(a, sa, b, sb, blocks);
}

/// With FP8, and rows without scales, the terms are the products of elements.
DotResult dotElements(const double *a, const double *sa, const double *b,
                      const double *sb, int64_t blocks, int64_t block) {
  DotResult r;
  for (int64_t j = 0; j < blocks; ++j, a += block, b += block) {
    double dot[4] = {}, magnitude[4] = {};
    for (int64_t k = 0; k < block; k += 4)
      for (int lane = 0; lane < 4; ++lane) {
        double product = a[k + lane] * b[k + lane];
        dot[lane] += product;
        magnitude[lane] += std::fabs(product);
      }
    double scale = sa[j] * sb[j];
    r.sum += ((dot[0] + dot[1]) + (dot[2] + dot[3])) * scale;
    r.magnitude +=
        ((magnitude[0] + magnitude[1]) + (magnitude[2] + magnitude[3])) * scale;
  }
  return r;
}

/// The value of element k of a line, without its scale.
double elementAt(const Panel &p, int64_t line, int64_t k) {
  auto i = static_cast<size_t>(line * p.blocks * p.block + k);
  return p.integral ? 0.5 * p.codes[i] : p.elements[i];
}

double scaleAt(const Panel &p, int64_t line, int64_t k) {
  return p.scales[static_cast<size_t>(line * p.blocks + k / p.block)];
}

/// The same sum with Neumaier's compensation; products are exact.
double compensatedDot(const Panel &a, int64_t m, const Panel &b, int64_t n) {
  double sum = 0.0, lost = 0.0;
  for (int64_t k = 0, e = a.blocks * a.block; k < e; ++k) {
    double term = (elementAt(a, m, k) * elementAt(b, n, k)) *
                  (scaleAt(a, m, k) * scaleAt(b, n, k));
    double next = sum + term;
    lost += std::fabs(sum) >= std::fabs(term) ? (sum - next) + term
                                              : (term - next) + sum;
    sum = next;
  }
  return sum + lost;
}

/// The error that the bounds of the elements of `p` add through the other
/// operand.
double inputError(const Panel &p, int64_t line, const Panel &other,
                  int64_t otherLine) {
  double total = 0.0;
  for (auto [k, bound] : p.errors[static_cast<size_t>(line)])
    total += bound * std::fabs(elementAt(other, otherLine, k) *
                               scaleAt(other, otherLine, k));
  return total;
}

/// Products of two uncertain elements.
double crossError(const Panel &a, int64_t m, const Panel &b, int64_t n) {
  const auto &left = a.errors[static_cast<size_t>(m)];
  const auto &right = b.errors[static_cast<size_t>(n)];
  double total = 0.0;
  for (size_t i = 0, j = 0; i < left.size() && j < right.size();) {
    if (left[i].first == right[j].first)
      total += left[i++].second * right[j++].second;
    else if (left[i].first < right[j].first)
      ++i;
    else
      ++j;
  }
  return total;
}

/// `blockSum` bounds the sums of |a * b| within blocks, without their scales.
Real withBound(const Panel &a, int64_t m, const Panel &b, int64_t n,
               DotResult dot, double blockSum, ProductTerms terms) {
  if (std::isnan(dot.sum) || std::isinf(dot.sum))
    return {dot.sum, 0.0};
  int unit = a.unit[static_cast<size_t>(m)] + b.unit[static_cast<size_t>(n)];
  // A line of zeros has no unit.
  bool zero = dot.magnitude == 0.0;
  if (!zero && !(dot.magnitude < std::ldexp(1.0, unit + 53)))
    dot.sum = compensatedDot(a, m, b, n);
  double input =
      inputError(a, m, b, n) + inputError(b, n, a, m) + crossError(a, m, b, n);
  if (std::isnan(input))
    input = std::numeric_limits<double>::infinity();
  // Targets apply scales, zeros too, before or after the sums within blocks.
  bool mayOverflow = std::max(dot.magnitude + input, blockSum) >= 0x1p127;
  if (mayOverflow)
    return {dot.sum, std::numeric_limits<double>::infinity()};
  bool exact =
      input == 0.0 &&
      (zero || (unit >= -149 && dot.magnitude < std::ldexp(1.0, unit + 24)));
  if (exact)
    return {dot.sum, 0.0};
  // Rounded additions: one per term, and a few for split sums. An instruction
  // of wgmma that adds 16 products loses less than 16 additions do.
  bool addsBlocks = a.integral && terms == ProductTerms::Blocks;
  double count =
      static_cast<double>(addsBlocks ? a.blocks : a.blocks * a.block) + 4;
  double gamma = count * 0x1p-24 / (1.0 - count * 0x1p-24);
  double bound = input + gamma * (dot.magnitude + input);
  // Scales and terms that leave the range of normal f32 numbers.
  if (unit < -126)
    bound += count * 0x1p-136;
  return {dot.sum, bound};
}

} // namespace

llvm::Expected<Panel> decodePanel(const ScaledValue &value,
                                  const ScaledAddress &address, int64_t batch,
                                  llvm::ArrayRef<int64_t> lines, int64_t group,
                                  bool integral) {
  Panel p;
  format::BlockFormat kind = address.format();
  GroupRange range = address.rangeAlong(group);
  p.lines = static_cast<int64_t>(lines.size());
  p.block = address.blockSize();
  p.blocks = format::scaleColumns(kind, range.size);
  p.integral = integral;
  bool fp4 = format::elementBits(kind) == 4;
  auto width = static_cast<size_t>(p.blocks * p.block);
  if (p.integral)
    p.codes.resize(lines.size() * width);
  else
    p.elements.resize(lines.size() * width);
  p.scales.resize(lines.size() * static_cast<size_t>(p.blocks));
  p.unit.assign(lines.size(), kNoUnit);
  p.errors.resize(lines.size());
  CodeTable table = makeCodeTable(format::elementKind(kind));
  llvm::ArrayRef<uint8_t> codes = value.data.bytes();
  llvm::ArrayRef<uint8_t> scales = value.scales.bytes();
  llvm::ArrayRef<double> bounds = value.data.codeBounds();
  for (size_t i = 0; i < lines.size(); ++i) {
    for (int64_t b = 0; b < p.blocks; ++b) {
      uint8_t byte =
          scales[static_cast<size_t>(address.scale(batch, lines[i], group, b))];
      if (format::scaleKind(kind) == format::ScaleKind::UE4M3 &&
          !format::isValidUE4M3(byte))
        return makeError("expected UE4M3 scales with the sign bit clear, but "
                         "got byte " +
                         llvm::Twine(static_cast<int>(byte)) + " for line " +
                         llvm::Twine(lines[i]) + ", block " + llvm::Twine(b));
      double scale = format::decodeScale(format::scaleKind(kind), byte);
      p.scales[i * static_cast<size_t>(p.blocks) + static_cast<size_t>(b)] =
          scale;
      int64_t first = b * p.block;
      int64_t last = std::min(first + p.block, range.size);
      int lowest = kNoUnit;
      for (int64_t k = first; k < last; ++k) {
        int64_t index = address.code(batch, lines[i], range.begin + k);
        uint8_t code = readCode(codes, fp4, index);
        size_t at = i * width + static_cast<size_t>(k);
        if (p.integral)
          p.codes[at] = static_cast<int16_t>(2 * table.value[code]);
        else
          p.elements[at] = table.value[code];
        if (!bounds.empty() && bounds[static_cast<size_t>(index)] != 0)
          p.errors[i].emplace_back(k, bounds[static_cast<size_t>(index)]);
        lowest = std::min(lowest, table.unit[code]);
      }
      if (lowest != kNoUnit && scale != 0 && std::isfinite(scale))
        p.unit[i] = std::min(p.unit[i], lowestBit(scale) + lowest);
    }
  }
  return p;
}

Panel readPlainPanel(const Tensor &rows, llvm::ArrayRef<int64_t> lines,
                     int64_t first, int64_t count, int64_t block) {
  Panel p;
  p.lines = static_cast<int64_t>(lines.size());
  p.block = block;
  p.blocks = (count + block - 1) / block;
  p.integral = false;
  auto width = static_cast<size_t>(p.blocks * block);
  p.elements.resize(lines.size() * width);
  p.scales.assign(lines.size() * static_cast<size_t>(p.blocks), 1.0);
  p.unit.assign(lines.size(), kNoUnit);
  p.errors.resize(lines.size());
  int64_t columns = rows.dim(rows.rank() - 1);
  for (size_t i = 0; i < lines.size(); ++i)
    for (int64_t k = 0; k < count; ++k) {
      Real element = rows.real(lines[i] * columns + first + k);
      p.elements[i * width + static_cast<size_t>(k)] = element.value;
      if (element.bound != 0)
        p.errors[i].emplace_back(k, element.bound);
      if (element.value != 0 && std::isfinite(element.value))
        p.unit[i] = std::min(p.unit[i], lowestBit(element.value));
    }
  return p;
}

/// The largest finite |element| of each line; none where both sides are FP4,
/// whose block sums are small.
static std::vector<double> largestElements(const Panel &p) {
  std::vector<double> largest(static_cast<size_t>(p.lines), 0.0);
  size_t width = p.elements.size() / std::max<size_t>(largest.size(), 1);
  for (size_t i = 0; i < p.elements.size(); ++i)
    if (double x = std::abs(p.elements[i]); std::isfinite(x))
      largest[i / width] = std::max(largest[i / width], x);
  return largest;
}

void multiplyPanels(const Panel &a, const Panel &b, ProductTerms terms,
                    llvm::MutableArrayRef<Real> out) {
  int64_t width = a.blocks * a.block;
  std::vector<double> largestOfA = largestElements(a);
  std::vector<double> largestOfB = largestElements(b);
  for (int64_t m = 0; m < a.lines; ++m) {
    for (int64_t n = 0; n < b.lines; ++n) {
      const double *sa = a.scales.data() + m * a.blocks;
      const double *sb = b.scales.data() + n * b.blocks;
      DotResult dot;
      if (!a.integral)
        dot = dotElements(a.elements.data() + m * width, sa,
                          b.elements.data() + n * width, sb, a.blocks, a.block);
      else
        dot = dotFP4(a.codes.data() + m * width, sa, b.codes.data() + n * width,
                     sb, a.blocks, a.block, terms);
      double blockSum = static_cast<double>(a.block) *
                        largestOfA[static_cast<size_t>(m)] *
                        largestOfB[static_cast<size_t>(n)];
      out[static_cast<size_t>(m * b.lines + n)] =
          withBound(a, m, b, n, dot, blockSum, terms);
    }
  }
}

} // namespace nvfp4::reference
