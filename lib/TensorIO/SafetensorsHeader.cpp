//===- SafetensorsHeader.cpp - The JSON header of a safetensors file ------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A state machine over JSON events. The states bound the depth to three.
//
//===----------------------------------------------------------------------===//

#include "SafetensorsHeader.h"
#include "JsonEvents.h"
#include "nvfp4/TensorIO/Tensor.h"

#include <set>

namespace nvfp4::tensorio {

namespace {
class HeaderEvents final : public JsonEvents {
public:
  using JsonEvents::JsonEvents;

  SafetensorsHeader header;

  bool unexpected(std::string_view kind) override;
  bool number_unsigned(number_unsigned_t value) override;
  bool string(string_t &text) override;
  bool start_object(size_t) override;
  bool key(string_t &text) override;
  bool end_object() override;
  bool start_array(size_t) override;
  bool end_array() override;

private:
  enum class State { Start, Top, Metadata, Entry, Array, Done };
  enum Field { None, DTypeField = 1, ShapeField = 2, OffsetsField = 4 };

  /// Names the tensor at hand, for messages.
  std::string here() const { return "tensor " + inQuotes(entry.name); }

  State state = State::Start;
  /// The key whose value comes next, at the top or among the metadata.
  std::string lastKey;
  std::set<std::string, std::less<>> names;
  bool haveMetadata = false;
  SafetensorsEntry entry;
  Field field = None;
  unsigned fieldsSeen = 0;
  size_t offsetsSeen = 0;
};
} // namespace

bool HeaderEvents::unexpected(std::string_view kind) {
  switch (state) {
  case State::Start:
  case State::Done:
    return fail("expected a JSON object as the header, but got ", kind);
  case State::Top:
    return fail("expected an object for ", inQuotes(lastKey), ", but got ",
                kind);
  case State::Metadata:
    return fail("expected a string for the metadata ", inQuotes(lastKey),
                ", but got ", kind);
  case State::Entry:
    return fail(
        "expected ",
        field == DTypeField
            ? "a string as the dtype"
            : "an array of unsigned integers as the " +
                  std::string(field == ShapeField ? "shape" : "data_offsets"),
        " of ", here(), ", but got ", kind);
  case State::Array:
    return fail("expected an unsigned integer in the ",
                field == ShapeField ? "shape" : "data_offsets", " of ", here(),
                ", but got ", kind);
  }
  return false;
}

bool HeaderEvents::start_object(size_t) {
  switch (state) {
  case State::Start:
    state = State::Top;
    return true;
  case State::Top:
    if (lastKey == "__metadata__") {
      state = State::Metadata;
      return true;
    }
    state = State::Entry;
    entry = SafetensorsEntry();
    entry.name = lastKey;
    fieldsSeen = 0;
    return true;
  default:
    return unexpected("an object");
  }
}

bool HeaderEvents::key(string_t &text) {
  switch (state) {
  case State::Top:
    lastKey = text;
    if (text == "__metadata__") {
      if (haveMetadata)
        return fail("expected one key '__metadata__', but got two");
      haveMetadata = true;
      return true;
    }
    if (!names.insert(text).second)
      return fail("expected one tensor ", inQuotes(text), ", but got two");
    return true;
  case State::Metadata:
    lastKey = text;
    if (header.metadata.contains(text))
      return fail("expected one metadata key ", inQuotes(text),
                  ", but got two");
    return true;
  default:
    field = text == "dtype"          ? DTypeField
            : text == "shape"        ? ShapeField
            : text == "data_offsets" ? OffsetsField
                                     : None;
    if (field == None)
      return fail("expected the key 'dtype', 'shape' or 'data_offsets' in ",
                  here(), ", but got ", inQuotes(text));
    if (fieldsSeen & field)
      return fail("expected one key ", inQuotes(text), " in ", here(),
                  ", but got two");
    fieldsSeen |= field;
    return true;
  }
}

bool HeaderEvents::string(string_t &text) {
  if (state == State::Metadata) {
    header.metadata.emplace(lastKey, text);
    return true;
  }
  if (state == State::Entry && field == DTypeField) {
    entry.fileDType = text;
    return true;
  }
  return unexpected("the string " + inQuotes(text));
}

bool HeaderEvents::start_array(size_t) {
  if (state != State::Entry || field == DTypeField)
    return unexpected("an array");
  state = State::Array;
  offsetsSeen = 0;
  return true;
}

bool HeaderEvents::number_unsigned(number_unsigned_t value) {
  if (state != State::Array)
    return unexpected(std::to_string(value));
  if (field == ShapeField) {
    if (value > uint64_t(INT64_MAX))
      return fail("expected dimensions below 2^63 in the shape of ", here(),
                  ", but got ", value);
    if (entry.shape.size() == maxRank)
      return fail("expected a rank of at most ", maxRank, " for ", here(),
                  ", but got more");
    entry.shape.push_back(static_cast<int64_t>(value));
    return true;
  }
  if (offsetsSeen == 2)
    return fail("expected 2 data_offsets for ", here(), ", but got more");
  (offsetsSeen++ ? entry.end : entry.begin) = value;
  return true;
}

bool HeaderEvents::end_array() {
  state = State::Entry;
  if (field == OffsetsField && offsetsSeen != 2)
    return fail("expected 2 data_offsets for ", here(), ", but got ",
                offsetsSeen);
  return true;
}

bool HeaderEvents::end_object() {
  switch (state) {
  case State::Top:
    state = State::Done;
    return true;
  case State::Metadata:
    state = State::Top;
    return true;
  default:
    for (auto [bit, name] :
         {std::pair(DTypeField, "dtype"), std::pair(ShapeField, "shape"),
          std::pair(OffsetsField, "data_offsets")})
      if (!(fieldsSeen & bit))
        return fail("expected the key '", name, "' in ", here(),
                    ", but got none");
    header.entries.push_back(std::move(entry));
    state = State::Top;
    return true;
  }
}

Expected<SafetensorsHeader> parseSafetensorsHeader(const std::string &file,
                                                   std::string_view text) {
  HeaderEvents events(file);
  if (Status status = events.read(text); !status)
    return status.takeError();
  return std::move(events.header);
}

} // namespace nvfp4::tensorio
