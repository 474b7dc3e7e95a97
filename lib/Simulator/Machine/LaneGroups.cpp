//===- LaneGroups.cpp - divergence and reconvergence ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A divergent branch opens a record at the branch's reconvergence point. Lanes
// that reach the point wait in the record until all lanes it expects are
// there; lanes that exit are no longer expected.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Machine/Machine.h"

#include <algorithm>

namespace nvfp4::sim {

bool Warp::hasReadyGroup() const {
  return std::any_of(groups.begin(), groups.end(), [](const LaneGroup &g) {
    return g.state == LaneGroup::State::Ready;
  });
}

bool Warp::selectGroup(uint64_t random) {
  if (groups.size() == 1) {
    current = 0;
    return groups[0].state == LaneGroup::State::Ready;
  }
  if (groups.empty())
    return false;
  size_t start = random % groups.size();
  for (size_t i = 0; i < groups.size(); ++i) {
    size_t candidate = (start + i) % groups.size();
    if (groups[candidate].state == LaneGroup::State::Ready) {
      current = candidate;
      return true;
    }
  }
  return false;
}

void Warp::splitOff(LaneMask lanes, uint32_t pc, uint32_t branch) {
  LaneGroup &parent = groups[current];
  uint32_t meet = kernel.reconvergence[branch];
  if (meet != noPc && meet != parent.reconvergePc) {
    records.push_back({meet, parent.mask, 0, parent.record});
    parent.record = static_cast<int32_t>(records.size()) - 1;
    parent.reconvergePc = meet;
  }
  LaneGroup part = parent;
  part.mask = lanes;
  part.pc = pc;
  parent.mask &= ~lanes;
  groups.push_back(part);
}

void Warp::diverge(LaneMask lanes, uint32_t target) {
  uint32_t branch = groups[current].pc;
  splitOff(lanes, target, branch);
  groups[current].pc = branch + 1;
}

void Warp::reconverge() {
  LaneGroup arriving = groups[current];
  groups.erase(groups.begin() + static_cast<ptrdiff_t>(current));
  current = 0;
  records[arriving.record].present |= arriving.mask;
  finishRecord(arriving.record);
}

void Warp::finishRecord(int32_t record) {
  Reconvergence &r = records[record];
  if (r.pc == noPc || r.present != r.expected)
    return;
  int32_t parent = r.parent;
  if (r.present) {
    LaneGroup merged;
    merged.pc = r.pc;
    merged.mask = r.present;
    merged.record = parent;
    merged.reconvergePc = parent < 0 ? noPc : records[parent].pc;
    groups.push_back(merged);
  }
  r.pc = noPc;
  while (!records.empty() && records.back().pc == noPc)
    records.pop_back();
}

void Warp::exitLanes(LaneMask lanes) {
  live &= ~lanes;
  LaneGroup &group = groups[current];
  group.mask &= ~lanes;
  if (!group.mask)
    groups.erase(groups.begin() + static_cast<ptrdiff_t>(current));
  current = 0;
  for (size_t i = records.size(); i-- > 0;) {
    if (i >= records.size() || records[i].pc == noPc)
      continue;
    records[i].expected &= ~lanes;
    finishRecord(static_cast<int32_t>(i));
  }
  machine.lanesExited(*this, lanes);
}

void Warp::wake() {
  for (LaneGroup &group : groups)
    if (group.state == LaneGroup::State::Waiting)
      group.state = LaneGroup::State::Ready;
}

bool Warp::releaseReconvergence() {
  bool any = false;
  for (size_t i = 0; i < records.size(); ++i) {
    Reconvergence &r = records[i];
    if (r.pc == noPc || !r.present)
      continue;
    LaneMask lanes = r.present;
    r.present = 0;
    LaneGroup released;
    released.pc = r.pc;
    released.mask = lanes;
    released.record = r.parent;
    released.reconvergePc = r.parent < 0 ? noPc : records[r.parent].pc;
    r.expected &= ~lanes;
    groups.push_back(released);
    any = true;
  }
  return any;
}

Step Warp::block(WaitKind kind, uint64_t address, uint64_t detail) {
  LaneGroup &g = group();
  g.state = LaneGroup::State::Waiting;
  g.wait = kind;
  g.waitAddress = address;
  g.waitDetail = detail;
  return Step::Block;
}

} // namespace nvfp4::sim
