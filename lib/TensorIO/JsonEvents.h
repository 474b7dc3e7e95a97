//===- JsonEvents.h - Event-driven reading of JSON --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The base of the two JSON readers. They consume nlohmann's parser events, so
// no tree is built, the depth is bounded, and duplicate keys are seen. Private
// to the library.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_TENSORIO_JSONEVENTS_H
#define NVFP4_LIB_TENSORIO_JSONEVENTS_H

#include "Text.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace nvfp4::tensorio {

/// Refuses every event; a reader overrides what its format allows and reports
/// the rest through fail().
class JsonEvents : public nlohmann::json::json_sax_t {
public:
  explicit JsonEvents(const std::string &file) : file(file) {}

  /// Runs the parser over `text`.
  Status read(std::string_view text) {
    // The parser takes a zero byte for the end of the input.
    if (size_t zero = text.find('\0'); zero != std::string_view::npos)
      return errorIn(file, "expected JSON, but got a zero byte at offset ",
                     zero);
    bool good = nlohmann::json::sax_parse(text.begin(), text.end(), this);
    if (error)
      return std::move(*error);
    if (!good)
      return errorIn(file, "expected JSON, but got something else");
    return {};
  }

  /// A value of a kind that the format does not allow here.
  virtual bool unexpected(std::string_view kind) = 0;

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a truth value"); }
  bool number_integer(number_integer_t value) override {
    return unexpected(std::to_string(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return unexpected(std::to_string(value));
  }
  bool number_float(number_float_t, const string_t &text) override {
    return unexpected("the number " + inQuotes(text));
  }
  bool string(string_t &text) override {
    return unexpected("the string " + inQuotes(text));
  }
  bool binary(binary_t &) override { return unexpected("binary data"); }
  bool start_object(size_t) override { return unexpected("an object"); }
  bool start_array(size_t) override { return unexpected("an array"); }

  bool parse_error(size_t position, const std::string &token,
                   const nlohmann::detail::exception &) override {
    return fail("expected JSON, but got a syntax error at byte ", position,
                " near ", inQuotes(token));
  }

protected:
  template <typename... Ts> bool fail(const Ts &...parts) {
    if (!error)
      error = errorIn(file, parts...);
    return false;
  }

  const std::string &file;

private:
  std::optional<Error> error;
};

} // namespace nvfp4::tensorio

#endif // NVFP4_LIB_TENSORIO_JSONEVENTS_H
