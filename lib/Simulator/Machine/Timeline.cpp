//===- Timeline.cpp - what happened when, as a picture ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A warp has two kinds of spans, so that the picture stays small: from when it
// becomes active until it waits, and the wait. Operations in flight at the same
// time are stacked.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Machine/Timeline.h"

#include "nvfp4/Simulator/Machine/Cta.h"
#include "nvfp4/Simulator/Machine/Report.h"

#include <algorithm>
#include <cstdio>

namespace nvfp4::sim {
namespace {

constexpr double left = 190, width = 1400;

const char *nameOf(WaitKind kind) {
  switch (kind) {
  case WaitKind::Mbarrier:
    return "mbarrier";
  case WaitKind::NamedBarrier:
    return "barrier";
  case WaitKind::ClusterBarrier:
    return "cluster barrier";
  case WaitKind::BulkGroup:
  case WaitKind::CopyGroup:
    return "copies";
  case WaitKind::TmemAllocation:
    return "tensor memory to be free";
  case WaitKind::TensorPipe:
    return "tensor memory";
  case WaitKind::WarpSync:
    return "lanes of the warp";
  default:
    return "others";
  }
}

const char *colourOf(WaitKind kind) {
  switch (kind) {
  case WaitKind::Mbarrier:
    return "#f0c36d";
  case WaitKind::NamedBarrier:
  case WaitKind::ClusterBarrier:
    return "#d9a3c7";
  case WaitKind::BulkGroup:
  case WaitKind::CopyGroup:
    return "#b9d7a0";
  default:
    return "#d8d8d8";
  }
}

/// The rows of operations; an instruction belongs to the first that fits.
struct Kind {
  const char *label;
  const char *colour;
  const char *prefixes[3];
};
constexpr Kind kinds[] = {
    {"loads", "#5b9bd5", {".shared::cluster.global", ".shared::cta.global"}},
    {"stores", "#70ad47", {".global.shared", ".reduce."}},
    {"tensor core", "#c0504d", {"tcgen05.mma", "wgmma"}},
    {"tensor copies", "#e08e79", {"tcgen05.cp", "tcgen05.shift"}},
    {"tmem access", "#8064a2", {"tcgen05.ld", "tcgen05.st"}},
    {"other", "#7f7f7f", {""}},
};

size_t kindOf(const std::string &name) {
  for (size_t i = 0; i < std::size(kinds); ++i)
    for (const char *prefix : kinds[i].prefixes)
      if (prefix && name.find(prefix) != std::string::npos)
        return i;
  return std::size(kinds) - 1;
}

std::string escape(const std::string &text) {
  std::string result;
  for (char c : text)
    result += c == '<'   ? "&lt;"
              : c == '>' ? "&gt;"
              : c == '&' ? "&amp;"
              : c == '"' ? "&quot;"
                         : std::string(1, c);
  return result;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string triple(const std::array<uint32_t, 3> &a) {
  return "(" + std::to_string(a[0]) + "," + std::to_string(a[1]) + "," +
         std::to_string(a[2]) + ")";
}

} // namespace

bool Timeline::room() {
  truncated |= spans >= maximumSpans;
  return spans < maximumSpans && ++spans;
}

Timeline::CtaRows *Timeline::find(const Cta &cta) {
  auto found = ctas.find(cta.id);
  if (found != ctas.end())
    return &found->second;
  if (ctas.size() >= maximumCtas)
    return nullptr;
  CtaRows &rows = ctas[cta.id];
  rows.rank = cta.rank;
  rows.cluster = cta.cluster->id;
  return &rows;
}

void Timeline::warpRuns(const Warp &warp, uint64_t now) {
  CtaRows *cta = find(warp.cta);
  if (!cta)
    return;
  Row &row = cta->warps[warp.index];
  if (row.open && row.current.wait == WaitKind::None)
    return;
  if (row.open && room()) {
    row.current.end = now;
    row.waiting.push_back(row.current);
  }
  row.open = true;
  row.current = Span();
  row.current.begin = now;
}

void Timeline::warpStops(const Warp &warp, uint64_t now) {
  CtaRows *cta = find(warp.cta);
  if (!cta || (warp.live && warp.hasReadyGroup()))
    return;
  Row &row = cta->warps[warp.index];
  if (row.open && room()) {
    row.current.end = now;
    row.active.push_back(row.current);
  }
  row.open = warp.live != 0;
  row.current = Span();
  row.current.begin = now;
  row.current.wait = WaitKind::Spin;
  for (const LaneGroup &group : warp.groups)
    if (group.state == LaneGroup::State::Waiting) {
      row.current.wait = group.wait;
      row.current.pc = group.pc;
      row.current.detail = group.waitAddress;
    }
}

void Timeline::operationBegins(const Warp &warp, uint64_t now) {
  pendingCta = find(warp.cta);
  pending = Span();
  pending.begin = now;
  pending.pc = warp.groups[warp.current].pc;
}

void Timeline::operationEnds(uint64_t time) {
  if (pendingCta && room()) {
    pending.end = time;
    pendingCta->operations.push_back(pending);
  }
  pendingCta = nullptr;
}

void Timeline::phaseCompletes(const Cta &cta, uint32_t offset, uint64_t phase,
                              uint64_t now) {
  CtaRows *rows = find(cta);
  if (!rows || !room())
    return;
  Span span;
  span.begin = span.end = now;
  span.detail = phase;
  rows->barriers[offset].push_back(span);
}

//===- Drawing
//-------------------------------------------------------------===//

void Timeline::label(const std::string &text) {
  body += "<text x=\"" + number(left - 8) + "\" y=\"" + number(top + 10) +
          "\" text-anchor=\"end\">" + escape(text) + "</text>\n";
}

void Timeline::bar(const Span &span, const char *colour, double y,
                   double height, const std::string &title) {
  double x = left + static_cast<double>(span.begin) * scale;
  double length =
      std::max(0.5, static_cast<double>(span.end - span.begin) * scale);
  body += "<rect x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" +
          number(length) + "\" height=\"" + number(height) + "\" fill=\"" +
          colour + "\"><title>" + escape(title) + "\n" +
          std::to_string(span.begin) + " to " + std::to_string(span.end) +
          "</title></rect>\n";
}

void Timeline::drawOperations(const Kernel &kernel,
                              const std::vector<Span> &all) {
  for (size_t kind = 0; kind < std::size(kinds); ++kind) {
    // Each span goes to the first level that is free when it begins.
    std::vector<uint64_t> levels;
    double level = 5;
    bool any = false;
    for (const Span &span : all) {
      const InstInfo &info = kernel.info[span.pc];
      if (kindOf(info.name) != kind)
        continue;
      if (!any)
        label(kinds[kind].label);
      any = true;
      size_t place = 0;
      while (place < levels.size() && levels[place] > span.begin)
        ++place;
      if (place == levels.size() && levels.size() < 16)
        levels.push_back(0);
      place = std::min(place, levels.size() - 1);
      levels[place] = std::max(levels[place], span.end);
      bar(span, kinds[kind].colour, top + level * static_cast<double>(place),
          level - 1, describePlace(kernel, span.pc) + " " + info.name);
    }
    if (any)
      top += std::max(14.0, level * static_cast<double>(levels.size()) + 2);
  }
}

void Timeline::drawCta(const Kernel &kernel, const std::array<uint32_t, 3> &id,
                       const CtaRows &rows, uint64_t end) {
  body += "<text x=\"10\" y=\"" + number(top + 11) +
          "\" font-weight=\"bold\">CTA " + triple(id) + ", rank " +
          std::to_string(rows.rank) + " of cluster " + triple(rows.cluster) +
          "</text>\n";
  top += 16;
  for (const auto &[index, row] : rows.warps) {
    label("warp " + std::to_string(index));
    for (const Span &span : row.active)
      bar(span, "#4f6d8f", top, 12, "warp " + std::to_string(index) + " runs");
    for (const Span &span : row.waiting)
      bar(span, colourOf(span.wait), top + 3, 6,
          "waits for " + std::string(nameOf(span.wait)) +
              (span.wait == WaitKind::Mbarrier
                   ? " " + std::to_string(span.detail & sharedOffsetMask)
                   : "") +
              (span.pc == noPc ? "" : " at " + describePlace(kernel, span.pc)));
    if (row.open) {
      Span last = row.current;
      last.end = end;
      bar(last, last.wait == WaitKind::None ? "#4f6d8f" : colourOf(last.wait),
          top + 3, 6, "until the end");
    }
    top += 14;
  }
  drawOperations(kernel, rows.operations);
  for (const auto &[offset, phases] : rows.barriers) {
    label("mbarrier " + std::to_string(offset));
    Span span;
    for (const Span &phase : phases) {
      span.end = phase.begin;
      bar(span, phase.detail % 2 ? "#fbe5b6" : "#f6cf7d", top + 2, 8,
          "phase " + std::to_string(phase.detail));
      span.begin = phase.begin;
    }
    top += 12;
  }
  top += 10;
}

void Timeline::finish(const Kernel &kernel, uint64_t now) {
  scale = width / static_cast<double>(std::max<uint64_t>(now, 1));
  body += "<text x=\"10\" y=\"" + number(top) + "\" font-size=\"14\">" +
          escape(kernel.name.substr(0, 120)) + ": " + std::to_string(now) +
          " warp instructions</text>\n";
  top += 12;
  for (const auto &[id, rows] : ctas)
    drawCta(kernel, id, rows, now);
  if (truncated) {
    body += "<text x=\"10\" y=\"" + number(top + 10) +
            "\">not all of it is shown: the run is too long</text>\n";
    top += 20;
  }
  top += 20;
  ctas.clear();
  spans = 0;
  truncated = false;
  pendingCta = nullptr;
}

void Timeline::write(std::ostream &out) const {
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\""
      << number(left + width + 20) << "\" height=\"" << number(top + 10)
      << "\" font-family=\"sans-serif\" font-size=\"10\">\n"
         "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
         "<text x=\"10\" y=\"18\" font-size=\"13\">The axis counts warp "
         "instructions of all CTAs; delays are random. Order and overlap, not "
         "speed.</text>\n"
         "<text x=\"10\" y=\"36\">dark: runs; yellow: waits for an mbarrier; "
         "pink: for a barrier; green: for copies; grey: for others. Point at "
         "a bar for its instruction.</text>\n"
      << body << "</svg>\n";
}

} // namespace nvfp4::sim
