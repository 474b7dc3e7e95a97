//===- Groups.cpp - Where groups and their scales lie -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Group offsets and scale addresses of the interpreter.
//
//===----------------------------------------------------------------------===//

#include "Groups.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/FormatEnums.h"

#include <algorithm>

namespace nvfp4::reference {
namespace {

/// One offset, with where it was found for the message.
llvm::Error offsetError(llvm::StringRef what, int64_t index,
                        const llvm::Twine &expected, int64_t got) {
  return makeError("expected " + what + "[" + llvm::Twine(index) + "] " +
                   expected + ", but got " + llvm::Twine(got));
}

llvm::Expected<llvm::SmallVector<GroupRange>>
resolveEnds(const Tensor &offsets, int64_t align, int64_t extent) {
  llvm::SmallVector<GroupRange> ranges;
  int64_t previous = 0;
  for (int64_t g = 0; g < offsets.numElements(); ++g) {
    int64_t end = offsets.integer(g);
    // grouping_c7
    if (end < previous)
      return offsetError("group ends", g,
                         "to be at least " + llvm::Twine(previous) +
                             ", the end of the group before",
                         end);
    // grouping_c6
    if (end > extent)
      return offsetError("group ends", g,
                         "to be at most " + llvm::Twine(extent), end);
    // An empty group may repeat the end before it.
    int64_t begin = format::roundUp(previous, align);
    ranges.push_back({begin, std::max<int64_t>(end - begin, 0)});
    // grouping_c7
    if (end < begin && end != previous)
      return offsetError("group ends", g,
                         "to be at least " + llvm::Twine(begin) +
                             ", where the group starts",
                         end);
    previous = end;
  }
  return ranges;
}

llvm::Expected<llvm::SmallVector<GroupRange>>
resolveStarts(const Tensor &offsets, int64_t align, int64_t extent) {
  llvm::SmallVector<GroupRange> ranges;
  // grouping_c5
  if (offsets.numElements() == 0)
    return makeError("expected at least 1 group start, but got 0");
  for (int64_t g = 0; g < offsets.numElements(); ++g) {
    int64_t start = offsets.integer(g);
    int64_t previous = g == 0 ? 0 : offsets.integer(g - 1);
    // grouping_c7
    if (start < previous)
      return offsetError("group starts", g,
                         "to be at least " + llvm::Twine(previous) +
                             ", the start before",
                         start);
    // grouping_c6
    if (start > extent)
      return offsetError("group starts", g,
                         "to be at most " + llvm::Twine(extent), start);
    // The last entry is an end.
    // grouping_c8
    if (g + 1 < offsets.numElements() && start % align != 0)
      return offsetError("group starts", g,
                         "to be a multiple of " + llvm::Twine(align), start);
    if (g > 0)
      ranges.push_back({previous, start - previous});
  }
  return ranges;
}

int64_t ceilDiv(int64_t a, int64_t b) { return a / b + (a % b != 0); }

} // namespace

llvm::Expected<llvm::SmallVector<GroupRange>>
resolveGroups(gsg::GroupingAttr grouping, const Tensor &offsets,
              int64_t extent) {
  // grouping_c4, grouping_c12
  if (isFloat(offsets.element()) || offsets.rank() != 1)
    return makeError("expected groups of type tensor<?xi32> or tensor<?xi64>, "
                     "but got " +
                     offsets.describe());
  if (grouping.getKind() != gsg::GroupingKind::Masked)
    return grouping.getOffsets() == gsg::OffsetsKind::Ends
               ? resolveEnds(offsets, grouping.getAlign(), extent)
               : resolveStarts(offsets, grouping.getAlign(), extent);
  llvm::SmallVector<GroupRange> ranges;
  for (int64_t g = 0; g < offsets.numElements(); ++g) {
    int64_t count = offsets.integer(g);
    // grouping_c6
    if (count < 0 || count > extent)
      return offsetError("group row counts", g,
                         "to be in [0, " + llvm::Twine(extent) + "]", count);
    ranges.push_back({0, count});
  }
  return ranges;
}

llvm::Expected<std::shared_ptr<const GroupMap>>
mapGroups(gsg::ScaledType type, int64_t raggedDim,
          llvm::ArrayRef<GroupRange> ranges) {
  auto map = std::make_shared<GroupMap>();
  map->alongK = raggedDim == type.getAxis();
  map->ranges.assign(ranges.begin(), ranges.end());
  map->scaleStarts.resize(ranges.size());
  llvm::SmallVector<int64_t> first, size;
  for (const GroupRange &range : ranges) {
    first.push_back(range.begin);
    size.push_back(range.size);
  }
  format::ScaleLayout layout = toFormat(type.getLayout());
  int64_t block = type.getBlockSize();
  if (!map->alongK) {
    format::groupStartRows(toFormat(type.getGroupStart()), layout, first, size,
                           map->scaleStarts);
    return map;
  }
  switch (type.getGroupStart()) {
  case gsg::GroupStart::Compact:
    format::groupStartScaleColumns(layout, block, size, map->scaleStarts);
    // grouping_c10
    return map;
  case gsg::GroupStart::UpperBound:
    return makeError("expected starts = whole or compact for groups along the "
                     "blocks, but got upper_bound");
  case gsg::GroupStart::Whole:
    break;
  }
  for (size_t g = 0; g < ranges.size(); ++g) {
    // grouping_c11
    if (ranges[g].size != 0 && ranges[g].begin % block != 0)
      return makeError("expected group " + llvm::Twine(g) +
                       " to start at a multiple of the block size " +
                       llvm::Twine(block) + ", but got " +
                       llvm::Twine(ranges[g].begin) +
                       "; starts = compact has no such limit");
    map->scaleStarts[g] = ranges[g].begin / block;
  }
  return map;
}

llvm::SmallVector<int64_t> scaleShapeFor(gsg::ScaledType type,
                                         const GroupMap *groups) {
  llvm::SmallVector<int64_t> whole =
      type.withLayout(type.getLayout(), gsg::GroupStart::Whole).getScaleShape();
  if (!groups || type.getGroupStart() == gsg::GroupStart::Whole)
    return whole;
  int64_t needed = 0;
  int64_t tile =
      groups->alongK ? type.getBlockSize() : getRowTile(type.getLayout());
  for (size_t g = 0; g < groups->ranges.size(); ++g)
    if (groups->ranges[g].size != 0)
      needed = std::max(needed, groups->scaleStarts[g] +
                                    (groups->alongK
                                         ? ceilDiv(groups->ranges[g].size, tile)
                                         : groups->ranges[g].size));
  if (type.getLayout() == gsg::ScaleLayout::Linear) {
    // Across blocks the type has the extent of the tensor.
    if (groups->alongK)
      whole[static_cast<size_t>(type.getAxis())] = needed;
    return whole;
  }
  size_t tiles =
      whole.size() - (type.getLayout() == gsg::ScaleLayout::Blocked ? 5 : 4);
  if (groups->alongK)
    whole[tiles + 1] = ceilDiv(needed, 4);
  else
    whole[tiles] = ceilDiv(needed, tile);
  return whole;
}

llvm::Expected<ScaledAddress>
ScaledAddress::create(gsg::ScaledType type, llvm::ArrayRef<int64_t> scaleShape,
                      std::shared_ptr<const GroupMap> groups) {
  ScaledAddress a;
  a.kind = toFormat(type.getFormat());
  a.block = type.getBlockSize();
  a.transposed = !type.isKMajor();
  int64_t rank = type.getRank();
  int64_t columns = type.getDimSize(rank - 1);
  int64_t rows = rank > 1 ? type.getDimSize(rank - 2) : 1;
  a.numBatches = rank > 2 ? type.getDimSize(0) : 1;
  // scaled_c3
  if (a.transposed && type.getAxis() != rank - 2)
    return makeError("expected blocks along one of the last two dimensions, "
                     "but got axis " +
                     llvm::Twine(type.getAxis()));
  a.numLines = a.transposed ? columns : rows;
  a.lineLength = a.transposed ? rows : columns;
  a.storedRows = rows;
  a.rowStride = type.isFP4() ? format::roundUp(columns, 2) : columns;
  size_t n = scaleShape.size();
  if (!type.isCoded())
    a.matrix.layout = toFormat(type.getLayout());
  switch (type.getLayout()) {
  case gsg::ScaleLayout::Linear:
    a.matrix.rows = n > 1 ? scaleShape[n - 2] : 1;
    a.matrix.columns = scaleShape[n - 1];
    break;
  case gsg::ScaleLayout::Blocked:
    a.matrix.rows = scaleShape[n - 5] * getRowTile(type.getLayout());
    a.matrix.columns = scaleShape[n - 4] * 4;
    break;
  case gsg::ScaleLayout::Blocked8x4:
    a.matrix.rows = scaleShape[n - 4] * getRowTile(type.getLayout());
    a.matrix.columns = scaleShape[n - 3] * 4;
    break;
  case gsg::ScaleLayout::Wgmma:
  case gsg::ScaleLayout::WgmmaF16:
    return makeError("expected a layout of scales, but got '" +
                     gsg::stringifyScaleLayout(type.getLayout()) + "'");
  }
  a.map = std::move(groups);
  // grouping_c9
  if (!a.map && type.getGroupStart() != gsg::GroupStart::Whole)
    return makeError("expected groups, because scales with starts = " +
                     gsg::stringifyGroupStart(type.getGroupStart()) +
                     " cannot be found without them");
  // In the transposed case scales of one line are a column of the matrix.
  int64_t haveLines = a.transposed ? a.matrix.columns : a.matrix.rows;
  int64_t haveBlocks = a.transposed ? a.matrix.rows : a.matrix.columns;
  int64_t needLines = a.numLines, needBlocks = ceilDiv(a.lineLength, a.block);
  if (a.map) {
    int64_t &need = a.map->alongK ? needBlocks : needLines;
    need = 0;
    for (size_t g = 0; g < a.map->ranges.size(); ++g) {
      const GroupRange &range = a.map->ranges[g];
      int64_t extent =
          a.map->alongK ? ceilDiv(range.size, a.block) : range.size;
      if (range.size != 0)
        need = std::max(need, a.map->scaleStarts[g] + extent);
    }
  }
  // storage_c9
  if (needLines != 0 && needBlocks != 0 &&
      (haveLines < needLines || haveBlocks < needBlocks))
    return makeError("expected scales for at least " + llvm::Twine(needLines) +
                     " x " + llvm::Twine(needBlocks) +
                     " blocks of the groups, but got " +
                     llvm::Twine(haveLines) + " x " + llvm::Twine(haveBlocks));
  return a;
}

int64_t ScaledAddress::groupOf(int64_t line, int64_t k) const {
  if (!map)
    return 0;
  int64_t position = map->alongK ? k : line;
  for (size_t g = 0; g < map->ranges.size(); ++g)
    if (position >= map->ranges[g].begin &&
        position < map->ranges[g].begin + map->ranges[g].size)
      return static_cast<int64_t>(g);
  return -1;
}

GroupRange ScaledAddress::rangeAlong(int64_t group) const {
  if (map && map->alongK)
    return map->ranges[static_cast<size_t>(group)];
  return {0, lineLength};
}

int64_t ScaledAddress::scale(int64_t batch, int64_t line, int64_t group,
                             int64_t b) const {
  int64_t i = line, j = b;
  if (map) {
    auto g = static_cast<size_t>(group);
    if (map->alongK)
      j += map->scaleStarts[g];
    else
      i += map->scaleStarts[g] - map->ranges[g].begin;
  }
  return place(batch, i, j);
}

int64_t ScaledAddress::place(int64_t batch, int64_t i, int64_t j) const {
  int64_t inMatrix = transposed ? matrix.offset(j, i) : matrix.offset(i, j);
  return batch * matrix.totalBytes() + inMatrix;
}

llvm::SmallVector<GroupPiece> piecesOf(const ScaledAddress &address,
                                       const ResolvedGroups &groups,
                                       int64_t batch, int64_t line) {
  llvm::SmallVector<GroupPiece> pieces;
  GroupRange all{0, address.length()};
  switch (groups.kind) {
  case gsg::GroupingKind::Dense:
    pieces.push_back({0, all});
    break;
  case gsg::GroupingKind::Batched:
    pieces.push_back({batch, all});
    break;
  case gsg::GroupingKind::Masked: {
    // The rows of a group lie along the lines, or are some of them.
    int64_t rows = groups.ranges[static_cast<size_t>(batch)].size;
    GroupRange first{0, address.isTransposed() ? rows : address.length()};
    if (rows != 0 && (address.isTransposed() || line < rows))
      pieces.push_back({batch, first});
    break;
  }
  case gsg::GroupingKind::RaggedRows:
  case gsg::GroupingKind::RaggedK:
    if (address.groups()->alongK) {
      for (auto [g, range] : llvm::enumerate(groups.ranges))
        if (range.size != 0)
          pieces.push_back({static_cast<int64_t>(g), range});
    } else if (int64_t g = address.groupOf(line, 0); g >= 0) {
      pieces.push_back({g, all});
    }
    break;
  }
  return pieces;
}

} // namespace nvfp4::reference
