//===- NarrowStores.cpp -----------------------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NarrowStores.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"

#include <tuple>

using namespace llvm;

namespace {
/// A line of PTX that is an instruction, in parts of its text.
struct Line {
  StringRef guard, opcode, operands;

  static Line get(StringRef text) {
    Line line;
    text = text.trim();
    if (text.starts_with("@"))
      std::tie(line.guard, text) = text.split(' ');
    size_t end = text.trim().find_first_of(" \t");
    line.opcode = text.trim().take_front(end);
    line.operands = text.trim().drop_front(line.opcode.size()).trim();
    return line;
  }
  bool isStore() const { return opcode.starts_with("st."); }

  /// The first type of the opcode, which is that of the result or of what is
  /// stored; empty without one.
  StringRef getType() const {
    SmallVector<StringRef> words;
    opcode.split(words, '.');
    for (StringRef word : drop_begin(words)) {
      StringRef kind = word.take_until(isDigit);
      if (word.drop_front(kind.size()).size() &&
          is_contained({"b", "u", "s", "f", "bf"}, kind) &&
          all_of(word.drop_front(kind.size()), isDigit))
        return word;
    }
    return {};
  }
};
} // namespace

/// Calls `visit` with each register in `text`.
template <typename F> static void forEachRegister(StringRef text, F visit) {
  for (size_t at = text.find('%'); at != StringRef::npos;
       at = text.find('%', at + 1))
    visit(text.drop_front(at).take_while(
        [](char c) { return c == '%' || isAlnum(c) || c == '_'; }));
}

/// Bits of a register by its name, or 0.
static unsigned getWidth(StringRef name) {
  return StringSwitch<unsigned>(name.take_until(isDigit))
      .Case("%rs", 16)
      .Case("%r", 32)
      .Case("%rd", 64)
      .Default(0);
}

static unsigned getTypeWidth(StringRef type) {
  unsigned bits = 0;
  (void)type.drop_while(isAlpha).getAsInteger(10, bits);
  return bits;
}

/// The operands of a store after its address.
static StringRef getStored(StringRef operands) {
  return operands.drop_front(operands.find(']') + 1);
}

std::string nvfp4::target::keepBitsOfNarrowStores(std::string ptx) {
  // Registers of which a store takes a part; whether a number is in them.
  StringMap<bool> parts;
  auto forEachLine = [&](auto visit) {
    for (StringRef rest = ptx; !rest.empty();) {
      StringRef text = rest.take_front(rest.find('\n'));
      visit(text, Line::get(text));
      rest = rest.drop_front(std::min(text.size() + 1, rest.size()));
    }
  };
  forEachLine([&](StringRef, const Line &line) {
    if (!line.isStore())
      return;
    unsigned width = getTypeWidth(line.getType());
    forEachRegister(getStored(line.operands), [&](StringRef name) {
      if (width && getWidth(name) > width)
        parts.try_emplace(name, false);
    });
  });
  if (parts.empty())
    return ptx;
  bool isAny = false;
  forEachLine([&](StringRef, const Line &line) {
    StringRef type = line.getType();
    if (line.isStore() || !(type.starts_with("f") || type.starts_with("bf")))
      return;
    StringRef result =
        line.operands.take_until([](char c) { return c == ','; });
    if (line.operands.starts_with("{"))
      result = line.operands.take_front(line.operands.find('}'));
    forEachRegister(result, [&](StringRef name) {
      if (auto found = parts.find(name); found != parts.end())
        isAny = found->second = true;
    });
  });
  if (!isAny)
    return ptx;
  std::string out;
  forEachLine([&](StringRef text, const Line &line) {
    SmallVector<StringRef> moved;
    unsigned width = line.isStore() ? getTypeWidth(line.getType()) : 0;
    if (width)
      forEachRegister(getStored(line.operands), [&](StringRef name) {
        if (getWidth(name) > width && parts.lookup(name) &&
            !is_contained(moved, name))
          moved.push_back(name);
      });
    if (moved.empty()) {
      out += text;
      out += '\n';
      return;
    }
    StringRef stored = getStored(text);
    std::string replaced = stored.str(), before = "\t{\n";
    for (auto [i, name] : enumerate(moved)) {
      std::string copy = "%bits" + std::to_string(i);
      std::string bits = std::to_string(getWidth(name));
      before += "\t.reg .b" + bits + " \t" + copy + ";\n\tmov.b" + bits +
                " \t" + copy + ", " + name.str() + ";\n";
      // Names end where no digit follows.
      for (size_t at = 0;
           (at = replaced.find(name.str(), at)) != std::string::npos;) {
        if (isDigit(replaced.c_str()[at + name.size()])) {
          at += name.size();
          continue;
        }
        replaced.replace(at, name.size(), copy);
        at += copy.size();
      }
    }
    out += before;
    out += text.drop_back(stored.size());
    out += replaced;
    out += "\n\t}\n";
  });
  return out;
}
