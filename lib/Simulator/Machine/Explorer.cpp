//===- Explorer.cpp - all schedules of a small program ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A depth-first search without stored states. After each run every pair of
// steps that depend on each other, and that nothing in between orders, is
// reversed: the choice before the first gets another alternative, a step that
// can come first in an order with the second before the first.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Machine/Explorer.h"

#include <algorithm>

namespace nvfp4::sim {

Explorer::Relation Explorer::relation(const Uses &first,
                                      const Uses &second) const {
  if (everyOrder)
    return Relation::Reversible;
  Relation result = Relation::Commute;
  auto asks = [](Use use) { return use == Use::Read || use == Use::Wait; };
  for (const auto &[object, use] : first)
    for (const auto &[other, otherUse] : second) {
      if (object != other || (asks(use) && asks(otherUse)) ||
          (use == Use::Arrive && otherUse == Use::Arrive))
        continue;
      if (use != Use::Arrive || otherUse != Use::Wait)
        return Relation::Reversible;
      result = Relation::Ordered;
    }
  return result;
}

bool Explorer::nextRun() {
  if (runCount > 0) {
    endStep();
    if (diverged)
      return false;
    findRaces();
    // Back to the last choice that has another alternative.
    for (; !nodes.empty(); nodes.pop_back()) {
      Node &node = nodes.back();
      node.sleep.emplace(node.chosen, node.uses);
      auto next =
          std::find_if(node.backtrack.begin(), node.backtrack.end(),
                       [&](Agent agent) { return !node.sleep.count(agent); });
      if (next == node.backtrack.end())
        continue;
      node.chosen = *next;
      node.uses.clear();
      break;
    }
    if (nodes.empty()) {
      complete = true;
      return false;
    }
  }
  if (runCount == maximumRuns)
    return false;
  ++runCount;
  depth = 0;
  redundant = false;
  changeCount = 0;
  startedBy.clear();
  causes.clear();
  origins.clear();
  return true;
}

Explorer::Agent Explorer::warp(unsigned device, uint32_t number) {
  auto next = static_cast<Agent>(agents.size());
  return agents.try_emplace({~uint64_t{device}, number}, next).first->second;
}

Explorer::Agent Explorer::started() {
  // Operations of the beginning, before any step, are nobody's.
  uint64_t by = depth ? nodes[depth - 1].chosen : ~uint32_t{0};
  auto next = static_cast<Agent>(agents.size());
  uint64_t number = startedBy[static_cast<Agent>(by)]++;
  Agent agent = agents.try_emplace({by, number}, next).first->second;
  if (depth)
    causes[agent].push_back(depth - 1);
  return agent;
}

void Explorer::follows(Object object) {
  if (depth)
    origins.back().objects.push_back(object);
}

void Explorer::wakes(Agent agent) {
  if (depth)
    causes[agent].push_back(depth - 1);
}

void Explorer::uses(Object object, Use use) {
  auto same = std::pair(object, use);
  if (std::find(inProgress.begin(), inProgress.end(), same) == inProgress.end())
    inProgress.push_back(same);
}

std::vector<Explorer::Object> Explorer::onlyRead() const {
  std::vector<Object> objects;
  for (const auto &[object, use] : inProgress) {
    if (use != Use::Read)
      return {};
    objects.push_back(object);
  }
  return objects;
}

bool Explorer::hasChanged() const {
  return std::any_of(
      inProgress.begin(), inProgress.end(), [](const auto &object) {
        return object.second == Use::Arrive || object.second == Use::Write;
      });
}

void Explorer::endStep() {
  if (depth && !redundant && !diverged)
    nodes[depth - 1].uses = inProgress;
  changeCount += hasChanged();
  inProgress.clear();
}

Explorer::Agent Explorer::choose(const std::vector<Agent> &enabled,
                                 const std::vector<Agent> &waiting) {
  endStep();
  if (redundant || diverged)
    return enabled.front();
  if (depth == nodes.size()) {
    Node node;
    node.enabled.insert(enabled.begin(), enabled.end());
    node.waiting.insert(waiting.begin(), waiting.end());
    if (depth) {
      const Node &last = nodes[depth - 1];
      for (const auto &[agent, uses] : last.sleep)
        if (agent != last.chosen &&
            relation(uses, last.uses) == Relation::Commute &&
            relation(last.uses, uses) == Relation::Commute)
          node.sleep.emplace(agent, uses);
    }
    // The agent of the last step goes on where it can.
    auto isAwake = [&](Agent agent) {
      return node.enabled.count(agent) && !node.sleep.count(agent);
    };
    auto first = std::find_if(enabled.begin(), enabled.end(), isAwake);
    if (first == enabled.end()) {
      redundant = true;
      return enabled.front();
    }
    bool goesOn = depth && isAwake(nodes[depth - 1].chosen);
    node.chosen = goesOn ? nodes[depth - 1].chosen : *first;
    node.backtrack.insert(node.chosen);
    nodes.push_back(std::move(node));
  }
  Agent chosen = nodes[depth].chosen;
  if (std::find(enabled.begin(), enabled.end(), chosen) == enabled.end()) {
    diverged = true;
    return enabled.front();
  }
  ++depth;
  origins.push_back({std::move(causes[chosen]), {}});
  causes.erase(chosen);
  return chosen;
}

void Explorer::findRaces() {
  size_t count = depth;
  // before[j][i]: step i happens before step j.
  std::vector<std::vector<bool>> before(count);
  std::map<Agent, size_t> last;
  for (size_t j = 0; j < count; ++j) {
    std::vector<bool> &earlier = before[j];
    earlier.assign(j, false);
    auto add = [&](size_t i) {
      earlier[i] = true;
      for (size_t k = 0; k < i; ++k)
        if (before[i][k])
          earlier[k] = true;
    };
    if (auto found = last.find(nodes[j].chosen); found != last.end())
      add(found->second);
    for (size_t i : origins[j].steps)
      add(i);
    for (Object object : origins[j].objects)
      for (size_t i = 0; i < j; ++i)
        for (const auto &[other, use] : nodes[i].uses)
          if (other == object && use == Use::Arrive)
            add(i);
    for (size_t i = j; i-- > 0;) {
      if (earlier[i])
        continue;
      Relation related = relation(nodes[i].uses, nodes[j].uses);
      if (related == Relation::Reversible)
        reverse(i, j, before);
      if (related != Relation::Commute)
        add(i);
    }
    last[nodes[j].chosen] = j;
  }
}

void Explorer::reverse(size_t first, size_t second,
                       const std::vector<std::vector<bool>> &before) {
  // The steps after the first that do not need it, and then the second. Agents
  // whose step there has none of these before it can begin such an order.
  std::vector<size_t> order;
  for (size_t k = first + 1; k < second; ++k)
    if (!before[k][first])
      order.push_back(k);
  order.push_back(second);
  std::set<Agent> initials, seen;
  for (size_t k : order) {
    bool isFirst = seen.insert(nodes[k].chosen).second;
    for (size_t earlier : order)
      isFirst &= earlier >= k || !before[k][earlier];
    if (isFirst)
      initials.insert(nodes[k].chosen);
  }
  Node &node = nodes[first];
  for (Agent agent : initials)
    // An agent that waits would read the same once more.
    if (node.backtrack.count(agent) || node.waiting.count(agent))
      return;
  for (Agent agent : initials)
    if (node.enabled.count(agent)) {
      node.backtrack.insert(agent);
      return;
    }
  node.backtrack.insert(node.enabled.begin(), node.enabled.end());
}

} // namespace nvfp4::sim
