//===- MlirMutator.cpp - Changes of MLIR text by the token ----------------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Changed bytes seldom parse. This mutator replaces a token by one of the same
// kind, a number by one of the edge cases, or moves a line; every other time
// it leaves the input to libFuzzer's own mutations and dictionary.
//
//===----------------------------------------------------------------------===//

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

namespace {
enum class Kind { Number, Word, Other };

struct Token {
  Kind kind;
  size_t begin;
  size_t end;
};
} // namespace

static Kind classify(char c) {
  if (std::isdigit(static_cast<unsigned char>(c)) || c == '?')
    return Kind::Number;
  bool isWord = std::isalpha(static_cast<unsigned char>(c)) ||
                std::strchr("_.%#!@$", c) != nullptr;
  return isWord ? Kind::Word : Kind::Other;
}

/// Extents (`4x?x8xf32`) are tokens of their own, `f8E4M3FN` is one.
static std::vector<Token> tokenize(std::string_view text) {
  std::vector<Token> tokens;
  for (size_t i = 0; i < text.size();) {
    Kind kind = classify(text[i]);
    size_t end = i + 1;
    while (kind != Kind::Other && end < text.size() &&
           (classify(text[end]) == kind ||
            (kind == Kind::Word && classify(text[end]) == Kind::Number)) &&
           !(text[i] == 'x' && kind == Kind::Word && end == i + 1))
      ++end;
    if (!std::isspace(static_cast<unsigned char>(text[i])))
      tokens.push_back({kind, i, end});
    i = end;
  }
  return tokens;
}

static std::string pickNumber(std::mt19937 &random) {
  static constexpr std::string_view kNumbers[] = {"0",
                                                  "1",
                                                  "2",
                                                  "3",
                                                  "15",
                                                  "16",
                                                  "17",
                                                  "32",
                                                  "-1",
                                                  "64",
                                                  "128",
                                                  "4096",
                                                  "?",
                                                  "65536",
                                                  "2147483647",
                                                  "2147483648",
                                                  "1e400",
                                                  "4294967296",
                                                  "0.0",
                                                  "4611686018427387904",
                                                  "nan",
                                                  "-9223372036854775808",
                                                  "9223372036854775807"};
  return std::string(kNumbers[random() % std::size(kNumbers)]);
}

static void replaceToken(std::string &text, std::mt19937 &random) {
  std::vector<Token> tokens = tokenize(text);
  if (tokens.empty())
    return;
  Token victim = tokens[random() % tokens.size()];
  std::string donor;
  if (victim.kind == Kind::Number && random() % 2) {
    donor = pickNumber(random);
  } else if (random() % 8) {
    std::erase_if(tokens, [&](Token t) { return t.kind != victim.kind; });
    Token chosen = tokens[random() % tokens.size()];
    donor = text.substr(chosen.begin, chosen.end - chosen.begin);
  }
  text.replace(victim.begin, victim.end - victim.begin, donor);
}

/// Copies, moves or drops a line.
static void changeLines(std::string &text, std::mt19937 &random) {
  std::vector<std::string> lines(1);
  for (char c : text)
    if (c == '\n')
      lines.emplace_back();
    else
      lines.back() += c;
  auto pick = [&] {
    return static_cast<std::ptrdiff_t>(random() % lines.size());
  };
  std::ptrdiff_t from = pick();
  std::string line = lines[from];
  if (random() % 2)
    lines.erase(lines.begin() + from);
  if (!lines.empty() && random() % 3)
    lines.insert(lines.begin() + pick(), line);
  text.clear();
  for (const std::string &kept : lines)
    text += kept + "\n";
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t maxSize, unsigned seed) {
  std::mt19937 random(seed);
  if (random() % 3 == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::string text(reinterpret_cast<const char *>(data), size);
  for (unsigned changes = 1 + random() % 3; changes; --changes)
    random() % 5 ? replaceToken(text, random) : changeLines(text, random);
  size = std::min(text.size(), maxSize);
  std::memcpy(data, text.data(), size);
  return size;
}
