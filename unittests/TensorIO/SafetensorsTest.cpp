//===- SafetensorsTest.cpp - Reader and writer of safetensors files -------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Round trips of every type, files put together by hand, and one damaged file
// for each diagnostic.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/TensorIO/Safetensors.h"
#include "TestFiles.h"

#include <gtest/gtest.h>

using namespace nvfp4::tensorio;
using namespace nvfp4::tensorio::test;

static Expected<SafetensorsFile> parse(std::string content) {
  auto owner = std::make_shared<std::string>(std::move(content));
  return SafetensorsFile::parse("f", asBytes(*owner), owner);
}

static std::string entry(std::string_view name, std::string_view dtype,
                         std::string_view shape, std::string_view offsets) {
  return "\"" + std::string(name) + R"(":{"dtype":")" + std::string(dtype) +
         R"(","shape":[)" + std::string(shape) + R"(],"data_offsets":[)" +
         std::string(offsets) + "]}";
}

TEST(SafetensorsTest, RoundTripsEveryType) {
  TemporaryDirectory directory;
  std::vector<NamedTensor> tensors;
  for (DType dtype : allDTypes())
    for (std::vector<int64_t> shape : {std::vector<int64_t>{}, {0, 3}, {3, 5}})
      tensors.push_back({std::string(dtypeName(dtype)) +
                             std::to_string(shape.size()) +
                             std::to_string(shape.empty() ? 0 : shape[0]),
                         counting(dtype, shape, tensors.size())});
  SafetensorsMetadata metadata = {{"format", "pt"},
                                  {"quote\"\\\n", "\xc3\xa9\x01"}};
  std::string path = directory / "a.safetensors";
  ASSERT_EQ(writeSafetensors(path, tensors, metadata).message(), "");
  Expected<SafetensorsFile> file = SafetensorsFile::open(path);
  ASSERT_TRUE(file) << file.message();
  EXPECT_EQ(file->metadata(), metadata);
  EXPECT_EQ(file->entries().size(), tensors.size());
  for (const NamedTensor &named : tensors) {
    Expected<Tensor> back = file->tensor(named.name);
    ASSERT_TRUE(back) << back.message();
    EXPECT_TRUE(sameTensor(*back, named.tensor)) << named.name;
  }
  EXPECT_EQ(directory.countFiles(), 1u);
}

TEST(SafetensorsTest, TensorsOutliveTheFileObject) {
  TemporaryDirectory directory;
  std::string path = directory / "a.safetensors";
  std::vector<NamedTensor> tensors = {{"w", counting(DType::U8, {4096})}};
  ASSERT_TRUE(writeSafetensors(path, tensors));
  Tensor tensor;
  tensor = *SafetensorsFile::open(path)->tensor("w");
  EXPECT_TRUE(tensor.isAligned(64));
  EXPECT_TRUE(sameTensor(tensor, tensors[0].tensor));
}

TEST(SafetensorsTest, PackedF4IsU8WithHalfTheColumns) {
  TemporaryDirectory directory;
  std::string path = directory / "a.safetensors";
  std::vector<NamedTensor> tensors = {{"w", counting(DType::U8, {2, 3}), true}};
  ASSERT_TRUE(writeSafetensors(path, tensors));
  SafetensorsFile file = *SafetensorsFile::open(path);
  EXPECT_EQ(file.find("w")->fileDType, "F4");
  EXPECT_EQ(file.find("w")->shape, (std::vector<int64_t>{2, 6}));
  EXPECT_TRUE(sameTensor(*file.tensor("w"), tensors[0].tensor));
}

TEST(SafetensorsTest, AcceptsAnyOrderAndPadding) {
  std::string json = "{" + entry("b", "U8", "2", "1,3") + ",\n " +
                     entry("a", "I8", "", "0,1") + "}   ";
  SafetensorsFile file = *parse(safetensorsFile(json, "\xff\x01\x02"));
  EXPECT_EQ(file.entries()[0].name, "a");
  EXPECT_EQ(values(*file.tensor("a")), (std::vector<double>{-1}));
  EXPECT_EQ(values(*file.tensor("b")), (std::vector<double>{1, 2}));
}

TEST(SafetensorsTest, AcceptsEmptyTensorsBetweenOthers) {
  std::string json = "{" + entry("b", "U8", "2", "0,2") + "," +
                     entry("z", "F32", "0", "2,2") + "," +
                     entry("a", "F64", "0,7", "0,0") + "}";
  EXPECT_EQ(parse(safetensorsFile(json, "xy"))->entries().size(), 3u);
  EXPECT_EQ(parse(safetensorsFile("{}", ""))->entries().size(), 0u);
}

TEST(SafetensorsTest, CallerNamesTheTypeOfIntegers) {
  std::string json = "{" + entry("s", "U8", "1", "0,1") + "," +
                     entry("h", "F16", "1", "1,3") + "," +
                     entry("p", "F4", "2", "3,4") + "}";
  SafetensorsFile file = *parse(safetensorsFile(json, "8888"));
  EXPECT_EQ(values(*file.tensor("s", DType::F8E4M3FN)),
            (std::vector<double>{1}));
  EXPECT_EQ(file.tensor("s", DType::F16).message(),
            "f: expected f16 of 2 bytes for tensor 's', but got U8 of 1");
  EXPECT_EQ(file.tensor("h", DType::BF16).message(),
            "f: expected integer data to read as bf16 for tensor 'h', but got "
            "F16");
  EXPECT_EQ(file.tensor("p", DType::F8E4M3FN).message(),
            "f: expected integer data to read as f8_e4m3fn for tensor 'p', but "
            "got F4");
}

TEST(SafetensorsTest, ListsTypesItCannotHold) {
  std::string json = "{" + entry("c", "C64", "1", "0,8") + "," +
                     entry("odd", "F4", "2,1", "8,9") + "}";
  std::string content = safetensorsFile(json, std::string(9, '\0'));
  SafetensorsFile file = *parse(content);
  EXPECT_EQ(file.find("c")->dtype, std::nullopt);
  EXPECT_EQ(file.tensor("c").message(),
            "f: expected a supported dtype for tensor 'c', but got C64");
  EXPECT_EQ(file.tensor("odd").message(),
            "f: expected an even last dimension for the packed F4 tensor "
            "'odd', but got [2, 1]");
}

TEST(SafetensorsTest, MissingTensorNamesTheNearest) {
  std::string content = safetensorsFile(
      "{" + entry("layer.0.weight", "U8", "1", "0,1") + "}", "x");
  EXPECT_EQ(parse(content)->tensor("layer.0.weigth").message(),
            "f: expected a tensor 'layer.0.weigth', but the file has none of "
            "that name; the nearest is 'layer.0.weight'");
  EXPECT_EQ(parse(content)->tensor("qqqqqq").message(),
            "f: expected a tensor 'qqqqqq', but the file has none of that "
            "name");
}

TEST(SafetensorsTest, WriterRefusesWhatTheReaderWould) {
  TemporaryDirectory directory;
  std::string path = directory / "a.safetensors";
  std::vector<NamedTensor> twice = {{"w", Tensor()}, {"w", Tensor()}};
  EXPECT_EQ(writeSafetensors(path, twice).message(),
            path + ": expected tensor names that differ from each other and "
                   "from '__metadata__', but got 'w' again");
  std::vector<NamedTensor> reserved = {{"__metadata__", Tensor()}};
  EXPECT_FALSE(writeSafetensors(path, reserved));
  std::vector<NamedTensor> packed = {{"p", counting(DType::F32, {2}), true}};
  EXPECT_EQ(writeSafetensors(path, packed).message(),
            path + ": expected u8 of rank 1 or more for the packed F4 tensor "
                   "'p', but got [2] f32");
  EXPECT_EQ(directory.countFiles(), 0u);
}

TEST(SafetensorsTest, LongNamesAreCutInMessages) {
  std::string content = safetensorsFile(
      "{" + entry(std::string(100000, 'n'), "U9", "1", "0,1") + "}", "x");
  EXPECT_LT(parse(content).message().size(), 300u);
}

struct BadFile {
  const char *name;
  std::string content;
  std::string message;
};

class SafetensorsDiagnostic : public testing::TestWithParam<BadFile> {};

TEST_P(SafetensorsDiagnostic, IsReported) {
  Expected<SafetensorsFile> file = parse(GetParam().content);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.message(), "f: " + GetParam().message);
}

static std::string bad(std::string_view json, std::string_view data = "") {
  return safetensorsFile(json, data);
}

static std::string lengthOnly(uint64_t length) {
  return rawBytes<uint64_t>({length});
}

static const BadFile badFiles[] = {
    {"Empty", "",
     "expected a header length of 8 bytes, but the file ends after 0"},
    {"ShortLength", "1234567",
     "expected a header length of 8 bytes, but the file ends after 7"},
    {"HugeHeader", lengthOnly(UINT64_MAX),
     "expected a header of at most 100000000 bytes, but got "
     "18446744073709551615"},
    {"ShortHeader", lengthOnly(100) + "{",
     "expected a header of 100 bytes, but the file ends after 1 of them"},
    {"EmptyHeader", lengthOnly(0),
     "expected a header that starts with '{', but got ''"},
    {"NoObject", bad("[]"),
     "expected a header that starts with '{', but got '[]'"},
    {"ByteOrderMark", bad("\xef\xbb\xbf{}"),
     "expected a header that starts with '{', but got '\\xef\\xbb\\xbf{}'"},
    {"Syntax", bad("{\"a\":}"),
     "expected JSON, but got a syntax error at byte 6 near '\"a\":}'"},
    {"Truncated", bad("{\"a\""),
     "expected JSON, but got a syntax error at byte 5 near '\"a\"'"},
    {"TextAfter", bad("{} x"),
     "expected JSON, but got a syntax error at byte 4 near '{} x'"},
    {"ZeroByte", bad(std::string("{}\0", 3)),
     "expected JSON, but got a zero byte at offset 2"},
    {"Utf8", bad("{\"\xff\":1}"),
     "expected JSON, but got a syntax error at byte 3 near '\"\\xff'"},
    {"NumberRange", bad("{\"a\":1e999}"),
     "expected JSON, but got a syntax error at byte 10 near '1e999'"},
    {"EntryKind", bad("{\"a\":1}"), "expected an object for 'a', but got 1"},
    {"EntryNull", bad("{\"a\":null}"),
     "expected an object for 'a', but got null"},
    {"EntryArray", bad("{\"a\":[{}]}"),
     "expected an object for 'a', but got an array"},
    {"MetadataKind", bad("{\"__metadata__\":\"x\"}"),
     "expected an object for '__metadata__', but got the string 'x'"},
    {"MetadataValue", bad("{\"__metadata__\":{\"a\":true}}"),
     "expected a string for the metadata 'a', but got a truth value"},
    {"MetadataNested", bad("{\"__metadata__\":{\"a\":{}}}"),
     "expected a string for the metadata 'a', but got an object"},
    {"MetadataTwice", bad("{\"__metadata__\":{},\"__metadata__\":{}}"),
     "expected one key '__metadata__', but got two"},
    {"MetadataKeyTwice", bad(R"({"__metadata__":{"a":"","a":""}})"),
     "expected one metadata key 'a', but got two"},
    {"TensorTwice",
     bad("{" + entry("a", "U8", "0", "0,0") + "," +
         entry("a", "U8", "0", "0,0") + "}"),
     "expected one tensor 'a', but got two"},
    {"UnknownKey", bad(R"({"a":{"type":"U8"}})"),
     "expected the key 'dtype', 'shape' or 'data_offsets' in tensor 'a', but "
     "got 'type'"},
    {"KeyTwice", bad(R"({"a":{"dtype":"U8","dtype":"U8"}})"),
     "expected one key 'dtype' in tensor 'a', but got two"},
    {"NoDType", bad(R"({"a":{"shape":[],"data_offsets":[0,0]}})"),
     "expected the key 'dtype' in tensor 'a', but got none"},
    {"NoShape", bad(R"({"a":{"dtype":"U8","data_offsets":[0,0]}})"),
     "expected the key 'shape' in tensor 'a', but got none"},
    {"NoOffsets", bad(R"({"a":{"dtype":"U8","shape":[]}})"),
     "expected the key 'data_offsets' in tensor 'a', but got none"},
    {"DTypeKind", bad(R"({"a":{"dtype":[]}})"),
     "expected a string as the dtype of tensor 'a', but got an array"},
    {"ShapeKind", bad(R"({"a":{"shape":"2"}})"),
     "expected an array of unsigned integers as the shape of tensor 'a', but "
     "got the string '2'"},
    {"OffsetsKind", bad(R"({"a":{"data_offsets":{}}})"),
     "expected an array of unsigned integers as the data_offsets of tensor "
     "'a', but got an object"},
    {"ShapeNegative", bad(R"({"a":{"shape":[-1]}})"),
     "expected an unsigned integer in the shape of tensor 'a', but got -1"},
    {"ShapeFloat", bad(R"({"a":{"shape":[2.0]}})"),
     "expected an unsigned integer in the shape of tensor 'a', but got the "
     "number '2.0'"},
    {"ShapeNested", bad(R"({"a":{"shape":[[[[[[)"),
     "expected an unsigned integer in the shape of tensor 'a', but got an "
     "array"},
    {"ShapeRange", bad(R"({"a":{"shape":[9223372036854775808]}})"),
     "expected dimensions below 2^63 in the shape of tensor 'a', but got "
     "9223372036854775808"},
    {"Rank",
     bad("{\"a\":{\"shape\":[1" +
         [] {
           std::string ones;
           for (int i = 0; i < 64; ++i)
             ones += ",1";
           return ones;
         }() +
         "]}}"),
     "expected a rank of at most 64 for tensor 'a', but got more"},
    {"OffsetRange", bad(R"({"a":{"data_offsets":[0,18446744073709551616]}})"),
     "expected an unsigned integer in the data_offsets of tensor 'a', but got "
     "the number '18446744073709551616'"},
    {"OffsetsFew", bad(R"({"a":{"data_offsets":[0]}})"),
     "expected 2 data_offsets for tensor 'a', but got 1"},
    {"OffsetsMany", bad(R"({"a":{"data_offsets":[0,1,2]}})"),
     "expected 2 data_offsets for tensor 'a', but got more"},
    {"UnknownDType", bad("{" + entry("a", "F8_E4M2", "1", "0,1") + "}", "x"),
     "expected a dtype of the format for tensor 'a', but got 'F8_E4M2'; the "
     "nearest is 'F8_E4M3'"},
    {"ElementOverflow",
     bad("{" + entry("a", "U8", "4294967296,4294967296", "0,1") + "}", "x"),
     "tensor 'a': expected fewer than 2^63 elements, but got shape "
     "[4294967296, 4294967296]"},
    {"BitOverflow",
     bad("{" + entry("a", "F64", "4611686018427387904", "0,1") + "}", "x"),
     "expected fewer than 2^64 bits for tensor 'a', but got shape "
     "[4611686018427387904] of F64"},
    {"HalfBytes", bad("{" + entry("a", "F4", "3", "0,1") + "}", "x"),
     "expected whole bytes for tensor 'a', but got 12 bits ([3] F4)"},
    {"OffsetOrder", bad("{" + entry("a", "U8", "1", "1,0") + "}", "x"),
     "expected data_offsets in rising order for tensor 'a', but got [1, 0]"},
    {"SizeMismatch", bad("{" + entry("a", "F32", "2", "0,4") + "}", "1234"),
     "expected 8 bytes for tensor 'a' ([2] F32), but data_offsets [0, 4] span "
     "4"},
    {"OutOfRange", bad("{" + entry("a", "U8", "4", "0,4") + "}", "123"),
     "expected data_offsets within the 3 bytes of data for tensor 'a', but "
     "got [0, 4]"},
    {"FarOutOfRange",
     bad("{" +
         entry("a", "U8", "1", "18446744073709551614,18446744073709551615") +
         "}"),
     "expected data_offsets within the 0 bytes of data for tensor 'a', but "
     "got [18446744073709551614, 18446744073709551615]"},
    {"Overlap",
     bad("{" + entry("a", "U8", "2", "0,2") + "," +
             entry("b", "U8", "2", "1,3") + "}",
         "123"),
     "expected tensors that do not overlap, but 'b' starts at 1 before 'a' "
     "ends at 2"},
    {"Hole",
     bad("{" + entry("a", "U8", "1", "0,1") + "," +
             entry("b", "U8", "1", "2,3") + "}",
         "123"),
     "expected tensor 'b' to start at 1 where the one before it ends, but got "
     "2"},
    {"Uncovered", bad("{" + entry("a", "U8", "1", "0,1") + "}", "12"),
     "expected the tensors to fill the 2 bytes of data, but they end at 1"},
};

INSTANTIATE_TEST_SUITE_P(Table, SafetensorsDiagnostic,
                         testing::ValuesIn(badFiles),
                         [](const auto &info) { return info.param.name; });

TEST(SafetensorsTest, DeepNestingIsRefusedWithoutRecursion) {
  EXPECT_FALSE(parse(bad("{\"a\":" + std::string(1000000, '['))));
  EXPECT_FALSE(
      parse(bad("{\"__metadata__\":{\"a\":" + std::string(1000000, '{'))));
}
