//===- Text.cpp - Messages and names ----------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Quoting of untrusted text and the search for the nearest name. Texts of files
// may hold control characters, which never reach a terminal.
//
//===----------------------------------------------------------------------===//

#include "Text.h"

#include <algorithm>
#include <vector>

namespace nvfp4::tensorio {

std::string inQuotes(std::string_view text) {
  constexpr size_t limit = 120, keep = 56;
  auto escape = [](std::string_view part, std::string &out) {
    static const char digits[] = "0123456789abcdef";
    for (unsigned char c : part) {
      if (c >= 0x20 && c < 0x7f) {
        out += static_cast<char>(c);
        continue;
      }
      out += "\\x";
      out += digits[c >> 4];
      out += digits[c & 15];
    }
  };
  std::string out = "'";
  if (text.size() <= limit) {
    escape(text, out);
  } else {
    escape(text.substr(0, keep), out);
    out += "...";
    escape(text.substr(text.size() - keep), out);
  }
  return out + "'";
}

static size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t substitution = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitution});
    }
  }
  return row[b.size()];
}

void NearestName::offer(std::string_view candidate) {
  // The distance takes quadratic time: a hostile file must not buy much of it.
  constexpr size_t maxLength = 256, maxOffers = 20000;
  if (wanted.size() > maxLength || candidate.size() > maxLength ||
      ++offered > maxOffers)
    return;
  size_t distance = editDistance(wanted, candidate);
  if (found && distance >= bestDistance)
    return;
  found = true;
  bestDistance = distance;
  best = candidate;
}

std::string NearestName::suggestion() const {
  if (!found || bestDistance > std::max<size_t>(2, wanted.size() / 2))
    return "";
  return "; the nearest is " + inQuotes(best);
}

} // namespace nvfp4::tensorio
