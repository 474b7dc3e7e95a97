//===- NpyHeader.cpp - The dictionary at the start of a .npy file ---------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The header is a Python literal of a fixed form, so the grammar is written
// down here directly: no nesting beyond the one list that `descr` may hold.
//
//===----------------------------------------------------------------------===//

#include "NpyHeader.h"
#include "Text.h"
#include "nvfp4/TensorIO/Tensor.h"

#include <charconv>
#include <optional>

namespace nvfp4::tensorio {

namespace {
class HeaderParser {
public:
  HeaderParser(const std::string &file, std::string_view text)
      : file(file), text(text) {}

  Expected<NpyHeader> parse();

private:
  void skipSpace() {
    while (position < text.size() &&
           (text[position] == ' ' || text[position] == '\t' ||
            text[position] == '\n' || text[position] == '\r'))
      ++position;
  }
  bool consume(char c) {
    skipSpace();
    if (position == text.size() || text[position] != c)
      return false;
    ++position;
    return true;
  }
  bool consumeWord(std::string_view word) {
    skipSpace();
    if (text.substr(position, word.size()) != word)
      return false;
    position += word.size();
    return true;
  }
  /// The token at the present position, for messages.
  std::string found() {
    skipSpace();
    if (position == text.size())
      return "the end of the header";
    return inQuotes(text.substr(position, 16));
  }
  Status expected(std::string_view what) {
    return errorIn(file, "expected ", what, " in the header, but got ",
                   found());
  }

  Status parseString(std::string_view what, std::string &out);
  Status parseInteger(int64_t &out);
  Status parseDescr();
  Status parseOrder();
  Status parseShape();

  const std::string &file;
  std::string_view text;
  size_t position = 0;
  NpyHeader header;
};
} // namespace

Status HeaderParser::parseString(std::string_view what, std::string &out) {
  skipSpace();
  if (position == text.size() ||
      (text[position] != '\'' && text[position] != '"'))
    return expected(what);
  char quote = text[position];
  size_t end = text.find(quote, position + 1);
  if (end == std::string_view::npos)
    return errorIn(file, "expected a closing quote in the header after ",
                   inQuotes(text.substr(position + 1)));
  out = text.substr(position + 1, end - position - 1);
  if (out.find('\\') != std::string::npos)
    return errorIn(file, "expected a plain string in the header, but got ",
                   inQuotes(out), " with an escape");
  position = end + 1;
  return {};
}

Status HeaderParser::parseInteger(int64_t &out) {
  skipSpace();
  const char *begin = text.data() + position;
  auto [end, code] = std::from_chars(begin, text.data() + text.size(), out);
  if (code == std::errc::result_out_of_range)
    return expected("a dimension below 2^63");
  if (code != std::errc())
    return expected("a dimension");
  position = end - text.data();
  // Python 2 wrote long integers with this suffix.
  if (position < text.size() && text[position] == 'L')
    ++position;
  return {};
}

Status HeaderParser::parseDescr() {
  if (!consume('['))
    return parseString("a type string or a list of one field", header.descr);
  if (!consume('('))
    return expected("'(' before the field");
  if (Status status = parseString("the name of the field", header.fieldName);
      !status)
    return status;
  if (!consume(','))
    return expected("',' after the name of the field");
  if (Status status = parseString("the type of the field", header.descr);
      !status)
    return status;
  if (consume(',')) {
    // The third member is the shape of the field; one element is the same as
    // none.
    bool tuple = consume('(');
    int64_t repeat = 1;
    if (Status status = parseInteger(repeat); !status)
      return status;
    if (repeat != 1)
      return errorIn(file, "expected a field of one element, but got ", repeat);
    if (tuple) {
      consume(',');
      if (!consume(')'))
        return expected("')' after the shape of the field");
    }
  }
  if (!consume(')'))
    return expected("')' after the field");
  consume(',');
  if (!consume(']'))
    return expected("a structure of one field (']')");
  return {};
}

Status HeaderParser::parseOrder() {
  if (consumeWord("True"))
    header.fortranOrder = true;
  else if (!consumeWord("False"))
    return expected("True or False for 'fortran_order'");
  return {};
}

Status HeaderParser::parseShape() {
  if (!consume('('))
    return expected("'(' before the shape");
  while (!consume(')')) {
    if (header.shape.size() == maxRank)
      return errorIn(file, "expected a rank of at most ", maxRank,
                     ", but got more");
    int64_t dim = 0;
    if (Status status = parseInteger(dim); !status)
      return status;
    if (dim < 0)
      return errorIn(file, "expected dimensions of at least 0, but got ", dim);
    header.shape.push_back(dim);
    if (consume(','))
      continue;
    if (!consume(')'))
      return expected("',' or ')' in the shape");
    break;
  }
  return {};
}

Expected<NpyHeader> HeaderParser::parse() {
  bool haveDescr = false, haveOrder = false, haveShape = false;
  if (!consume('{'))
    return expected("'{'").takeError();
  while (!consume('}')) {
    std::string key;
    if (Status status = parseString("a key", key); !status)
      return status.takeError();
    if (!consume(':'))
      return expected("':' after a key").takeError();
    bool *seen = key == "descr"           ? &haveDescr
                 : key == "fortran_order" ? &haveOrder
                 : key == "shape"         ? &haveShape
                                          : nullptr;
    if (!seen)
      return errorIn(file,
                     "expected the key 'descr', 'fortran_order' or 'shape' in "
                     "the header, but got ",
                     inQuotes(key));
    if (*seen)
      return errorIn(file, "expected one key ", inQuotes(key),
                     " in the header, but got two");
    *seen = true;
    Status status = seen == &haveDescr   ? parseDescr()
                    : seen == &haveOrder ? parseOrder()
                                         : parseShape();
    if (!status)
      return status.takeError();
    if (consume(','))
      continue;
    if (!consume('}'))
      return expected("',' or '}'").takeError();
    break;
  }
  skipSpace();
  if (position != text.size())
    return expected("only blanks after '}'").takeError();
  for (auto [seen, key] :
       {std::pair(haveDescr, "descr"), std::pair(haveOrder, "fortran_order"),
        std::pair(haveShape, "shape")})
    if (!seen)
      return errorIn(file, "expected the key '", key,
                     "' in the header, but got none");
  return std::move(header);
}

Expected<NpyHeader> parseNpyHeader(const std::string &file,
                                   std::string_view text) {
  return HeaderParser(file, text).parse();
}

} // namespace nvfp4::tensorio
