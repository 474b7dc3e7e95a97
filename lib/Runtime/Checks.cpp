//===- Checks.cpp - Checks that compiled code calls -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See nvfp4_checks.h. Each reads its data once, so the cost is that of the
// offsets and indices, not of what they cut or move.
//
//===----------------------------------------------------------------------===//

#include "Checks.h"

#include "Violation.h"

#include "nvfp4/Format/WgmmaWeights.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

using namespace nvfp4::runtime;

static constexpr int64_t kNoBound = std::numeric_limits<int64_t>::max();

static std::string text(int64_t value) { return std::to_string(value); }

/// "expected `expected`, but got `seen`"
static std::string explain(const char *where, const char *label,
                           const std::string &expected, int64_t seen,
                           const std::string &hint = "") {
  return std::string(where) + ": expected " + expected + ", but got " +
         text(seen) + hint + " [" + label + "]";
}

/// Records what is wrong, if anything is; 1 if nothing is, else 0.
static int32_t accept(std::string problem) {
  if (problem.empty())
    return 1;
  recordViolation(std::move(problem));
  return 0;
}

/// The same for a number.
static int32_t reject(const char *where, const char *label,
                      const std::string &expected, int64_t seen,
                      const std::string &hint = "") {
  return accept(explain(where, label, expected, seen, hint));
}

/// The smallest multiple of `unit` that is not below `value`; saturates.
static int64_t roundUp(int64_t value, int64_t unit) {
  int64_t rest = value % unit;
  if (rest == 0)
    return value;
  return value > kNoBound - (unit - rest) ? kNoBound : value + (unit - rest);
}

namespace {
/// Integers of 32 or 64 bits, `stride` entries apart.
struct Integers {
  const void *data;
  int64_t bits, stride;
  int64_t operator[](int64_t index) const {
    return bits == 64 ? static_cast<const int64_t *>(data)[index * stride]
                      : static_cast<const int32_t *>(data)[index * stride];
  }
};

/// Offsets, or counts, of groups.
struct Groups {
  Integers values;
  int64_t count;
  GroupRule rule;

  bool check(const char *where) const {
    int64_t previous = 0;
    for (int64_t g = 0; g < count; ++g) {
      int64_t value = values[g];
      bool isLast = g + 1 == count;
      if (!accept(rule.explain(where, g, isLast, previous, value)))
        return false;
      previous = value;
    }
    return true;
  }
};
} // namespace

std::string GroupRule::explain(const char *where, int64_t group, bool isLast,
                               int64_t previous, int64_t value) const {
  const char *what = form == NVFP4_GROUP_ENDS     ? "group ends["
                     : form == NVFP4_GROUP_STARTS ? "group starts["
                                                  : "group row counts[";
  std::string name = what + text(group) + "]";
  if (form == NVFP4_GROUP_COUNTS)
    previous = 0;
  if (value < 0 || value > extent)
    return ::explain(where, "grouping_c6",
                     name + " to be in [" + text(previous) + ", " +
                         text(extent) + "]",
                     value);
  if (form == NVFP4_GROUP_COUNTS)
    return {};
  if (value < previous)
    return ::explain(where, "grouping_c7",
                     name + " to be at least " + text(previous) +
                         ", the one before it",
                     value);
  // An empty group may repeat the end before it.
  int64_t begin = roundUp(previous, align);
  if (form == NVFP4_GROUP_ENDS && value < begin && value != previous)
    return ::explain(where, "grouping_c7",
                     name + " to be at least " + text(begin) +
                         ", where the group starts",
                     value);
  // The last of the starts is an end.
  if (form == NVFP4_GROUP_STARTS && !isLast && value % align != 0)
    return ::explain(
        where, "grouping_c8", name + " to be a multiple of " + text(align),
        value,
        " (nearest: " + text(std::max(previous, value / align * align)) + ")");
  return {};
}

std::string nvfp4::runtime::explainIndex(const char *where, const char *label,
                                         const char *what, int64_t row,
                                         std::optional<int64_t> column,
                                         int64_t value, int64_t limit) {
  if (isIndex(value, limit))
    return {};
  std::string place =
      "[" + text(row) + (column ? ", " + text(*column) : "") + "]";
  int64_t nearest = value < -1 ? -1 : limit - 1;
  return explain(where, label,
                 what + place + " to be in [-1, " + text(limit) + ")", value,
                 " (nearest: " + text(nearest) + ")");
}

std::string nvfp4::runtime::explainPositive(const char *where,
                                            const char *label, const char *what,
                                            float seen) {
  if (seen > 0 && std::isfinite(seen))
    return {};
  char number[32];
  std::snprintf(number, sizeof number, "%g", static_cast<double>(seen));
  return std::string(where) + ": expected " + what +
         " to be finite and positive, but got " + number + " [" + label + "]";
}

std::string nvfp4::runtime::explainFactor(const char *where, float seen,
                                          int64_t format) {
  auto kind =
      nvfp4::format::scaleKind(static_cast<nvfp4::format::BlockFormat>(format));
  std::string error = nvfp4::format::wgmma::checkFactor(kind, seen);
  return error.empty() ? error : std::string(where) + ": " + error;
}

std::string nvfp4::runtime::explainRoom(const char *where, const char *label,
                                        const char *what, int64_t seen,
                                        int64_t needed) {
  if (seen >= needed)
    return {};
  return explain(where, label,
                 std::string(what) + " to be at least " + text(needed) +
                     " for the groups",
                 seen);
}

extern "C" int32_t nvfp4_check_equal(const char *where, const char *label,
                                     const char *what, int64_t seen,
                                     int64_t expected) try {
  if (seen == expected)
    return 1;
  return reject(where, label, std::string(what) + " to be " + text(expected),
                seen);
} catch (...) {
  recordException();
  return 0;
}

extern "C" int32_t nvfp4_check_range(const char *where, const char *label,
                                     const char *what, int64_t seen,
                                     int64_t low, int64_t high) try {
  if (seen >= low && seen <= high)
    return 1;
  std::string range = " to be ";
  if (high == kNoBound)
    range += "at least " + text(low);
  else
    range += "in [" + text(low) + ", " + text(high) + "]";
  return reject(where, label, what + range, seen);
} catch (...) {
  recordException();
  return 0;
}

extern "C" int32_t nvfp4_check_multiple(const char *where, const char *label,
                                        const char *what, int64_t seen,
                                        int64_t factor) try {
  if (seen % factor == 0)
    return 1;
  int64_t below = seen / factor * factor;
  bool isAbove = seen - below > factor / 2 || below == 0;
  return reject(
      where, label, std::string(what) + " to be a multiple of " + text(factor),
      seen, " (nearest: " + text(isAbove ? below + factor : below) + ")");
} catch (...) {
  recordException();
  return 0;
}

extern "C" int32_t nvfp4_check_positive(const char *where, const char *label,
                                        const char *what, float seen,
                                        int64_t users) try {
  return accept(users == 0 ? "" : explainPositive(where, label, what, seen));
} catch (...) {
  recordException();
  return 0;
}

extern "C" int32_t nvfp4_check_factors(const char *where, const float *factors,
                                       int64_t count, int64_t format) try {
  for (int64_t i = 0; i < count; ++i)
    if (!accept(explainFactor(where, factors[i], format)))
      return 0;
  return 1;
} catch (...) {
  recordException();
  return 0;
}

extern "C" int32_t nvfp4_check_indices(const char *where, const char *label,
                                       const char *what, const void *data,
                                       int64_t bits, int64_t rows,
                                       int64_t columns, int64_t rowStride,
                                       int64_t columnStride,
                                       int64_t limit) try {
  bool isVector = columns < 0;
  int64_t width = isVector ? 1 : columns;
  for (int64_t i = 0; i < rows; ++i) {
    const char *row =
        static_cast<const char *>(data) + i * rowStride * (bits / 8);
    Integers entries{row, bits, columnStride};
    for (int64_t j = 0; j < width; ++j) {
      if (isIndex(entries[j], limit))
        continue;
      std::optional<int64_t> column;
      if (!isVector)
        column = j;
      if (!accept(
              explainIndex(where, label, what, i, column, entries[j], limit)))
        return 0;
    }
  }
  return 1;
} catch (...) {
  recordException();
  return 0;
}

extern "C" int32_t nvfp4_check_groups(const char *where, const void *data,
                                      int64_t bits, int64_t count,
                                      int64_t stride, int64_t form,
                                      int64_t align, int64_t extent) try {
  return Groups{{data, bits, stride}, count, {form, align, extent}}.check(
      where);
} catch (...) {
  recordException();
  return 0;
}

extern "C" int32_t nvfp4_check_scale_room(
    const char *where, const char *label, const char *name, const void *data,
    int64_t bits, int64_t count, int64_t stride, int64_t form, int64_t align,
    int64_t extent, int64_t isUpperBound, int64_t tile, int64_t block,
    int64_t have, int64_t haveAcross, int64_t needAcross) try {
  Groups groups{{data, bits, stride}, count, {form, align, extent}};
  if (!groups.check(where))
    return 0;
  bool isEnds = form == NVFP4_GROUP_ENDS;
  int64_t previous = 0, packed = 0, needed = 0;
  for (int64_t g = 0; g + !isEnds < count; ++g) {
    int64_t begin = isEnds ? roundUp(previous, align) : groups.values[g];
    int64_t end = groups.values[isEnds ? g : g + 1];
    int64_t size = std::max<int64_t>(end - begin, 0);
    if (block != 0)
      size = size / block + (size % block != 0);
    int64_t start =
        isUpperBound ? (begin + g * (tile - 1)) / tile * tile : packed;
    if (size != 0)
      needed = std::max(needed, start + size);
    packed += roundUp(size, tile);
    previous = end;
  }
  // Without a position in any group no scale is read.
  if (needed == 0)
    return 1;
  const char *along = block != 0 ? "blocks" : "rows";
  const char *across = block != 0 ? "rows" : "blocks";
  std::string scales = std::string(" of the scales of ") + name;
  if (haveAcross < needAcross)
    return reject(where, label,
                  across + scales + " to be at least " + text(needAcross),
                  haveAcross);
  return accept(
      explainRoom(where, label, (along + scales).c_str(), have, needed));
} catch (...) {
  recordException();
  return 0;
}

namespace {
/// Rows of bytes, `pitch` apart; the addresses are numbers.
struct ByteRows {
  ByteRows(const void *data, int64_t rows, int64_t width, int64_t pitch)
      : ByteRows(reinterpret_cast<intptr_t>(data), rows, width, pitch) {}
  ByteRows(int64_t begin, int64_t rows, int64_t width, int64_t pitch)
      : begin(begin), rows(rows), width(width), pitch(pitch) {}
  bool isEmpty() const { return rows <= 0 || width <= 0; }
  int64_t end() const { return begin + (rows - 1) * pitch + width; }

  int64_t begin, rows, width, pitch;
};
} // namespace

static bool meet(const ByteRows &a, const ByteRows &b) {
  if (a.isEmpty() || b.isEmpty() || a.end() <= b.begin || b.end() <= a.begin)
    return false;
  int64_t pitch = a.rows > 1 ? a.pitch : b.pitch;
  if ((a.rows == 1 && b.rows == 1) || pitch <= 0 ||
      (a.rows > 1 && b.rows > 1 && a.pitch != b.pitch))
    return true;
  // Row i of a meets row j of b if (i - j) pitch lies strictly between
  // `low` and `high`: the first i - j past `low` decides.
  int64_t low = b.begin - a.begin - a.width, high = b.begin - a.begin + b.width;
  int64_t below = low / pitch - (low % pitch < 0);
  int64_t step = std::max(below + 1, 1 - b.rows);
  return step < a.rows && step * pitch < high;
}

static void rejectOverlap(const char *where, const char *label,
                          const std::string &output, const ByteRows &a,
                          const std::string &other, const ByteRows &b) {
  int64_t distance = b.begin - a.begin;
  recordViolation(
      std::string(where) + ": expected " + output +
      ", an output, to overlap no other operand, but " + other + " starts " +
      text(distance < 0 ? -distance : distance) +
      (distance < 0 ? " bytes before it" : " bytes after its start") + " [" +
      label + "]");
}

extern "C" int32_t nvfp4_check_disjoint(
    const char *where, const char *label, const char *output, const char *other,
    const void *outputData, int64_t outputRows, int64_t outputRowBytes,
    int64_t outputPitch, const void *otherData, int64_t otherRows,
    int64_t otherRowBytes, int64_t otherPitch) {
  ByteRows a(outputData, outputRows, outputRowBytes, outputPitch);
  ByteRows b(otherData, otherRows, otherRowBytes, otherPitch);
  if (!meet(a, b))
    return 1;
  rejectOverlap(where, label, output, a, other, b);
  return 0;
}

extern "C" int32_t nvfp4_check_all_disjoint(const char *where,
                                            const char *label,
                                            const int64_t *table,
                                            int64_t operands,
                                            int64_t outputs) try {
  struct Operand {
    int64_t number;
    bool isOutput;
    ByteRows bytes;
  };
  std::vector<Operand> all;
  for (int64_t i = 0; i < operands; ++i) {
    const int64_t *row = table + 5 * i;
    ByteRows bytes(row[1], row[2], row[3], row[4]);
    if (!bytes.isEmpty())
      all.push_back({row[0], i >= operands - outputs, bytes});
  }
  std::sort(all.begin(), all.end(), [](const Operand &a, const Operand &b) {
    return a.bytes.begin < b.bytes.begin;
  });
  // Overlapping operands begin before this one ends.
  for (auto a = all.begin(); a != all.end(); ++a)
    for (auto b = a + 1; b != all.end() && b->bytes.begin < a->bytes.end();
         ++b) {
      if ((!a->isOutput && !b->isOutput) || !meet(a->bytes, b->bytes))
        continue;
      bool isLater = a->isOutput && (!b->isOutput || a->number > b->number);
      const Operand &output = isLater ? *a : *b, &other = isLater ? *b : *a;
      auto nameOf = [](const Operand &operand) {
        return "operand #" + text(operand.number);
      };
      rejectOverlap(where, label, nameOf(output), output.bytes, nameOf(other),
                    other.bytes);
      return 0;
    }
  return 1;
} catch (...) {
  recordException();
  return 0;
}
