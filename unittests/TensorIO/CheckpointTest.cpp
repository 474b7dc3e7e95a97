//===- CheckpointTest.cpp - Checkpoints and command-line references -------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sharded checkpoints, the specifications of tools and their diagnostics.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/TensorIO/Checkpoint.h"
#include "TestFiles.h"
#include "nvfp4/TensorIO/Npy.h"
#include "nvfp4/TensorIO/TensorRef.h"

#include <gtest/gtest.h>

using namespace nvfp4::tensorio;
using namespace nvfp4::tensorio::test;

/// A checkpoint of two shards with the tensors a, b and c.
class CheckpointTest : public testing::Test {
protected:
  void SetUp() override {
    std::vector<NamedTensor> first = {{"a", counting(DType::U8, {2}, 10)},
                                      {"b", counting(DType::U8, {3}, 20)}};
    std::vector<NamedTensor> second = {{"c", counting(DType::U8, {2, 2}, 30)}};
    ASSERT_TRUE(writeSafetensors(directory / "m-1.safetensors", first));
    ASSERT_TRUE(writeSafetensors(directory / "m-2.safetensors", second));
    index = writeIndex(R"({"metadata":{"total_size":9,"x":[[],{"y":null}]},)"
                       R"("weight_map":{"a":"m-1.safetensors",)"
                       R"("b":"m-1.safetensors","c":"m-2.safetensors"}})");
  }
  std::string writeIndex(std::string_view text) {
    return directory.write("model.safetensors.index.json", text);
  }
  std::string load(const std::string &spec) {
    Expected<Tensor> tensor = TensorLoader().load(spec);
    return tensor ? tensor->describe() : tensor.message();
  }

  TemporaryDirectory directory;
  std::string index;
};

TEST_F(CheckpointTest, ReadsShards) {
  Expected<Checkpoint> checkpoint = Checkpoint::open(index);
  ASSERT_TRUE(checkpoint) << checkpoint.message();
  EXPECT_EQ(checkpoint->names(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(checkpoint->files().size(), 2u);
  EXPECT_EQ(checkpoint->find("c")->shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(checkpoint->find("d"), nullptr);
  EXPECT_EQ(values(*checkpoint->tensor("b")),
            (std::vector<double>{20, 21, 22}));
}

TEST_F(CheckpointTest, OpensADirectory) {
  EXPECT_EQ(Checkpoint::open(directory / "")->names().size(), 3u);
  TemporaryDirectory single;
  EXPECT_EQ(Checkpoint::open(single / "").message(),
            single / "" +
                ": expected a directory with 'model.safetensors.index.json' or "
                "files that end with '.safetensors', but got neither");
  std::vector<NamedTensor> tensors = {{"x", Tensor()}};
  ASSERT_TRUE(writeSafetensors(single / "model.safetensors", tensors));
  EXPECT_EQ(Checkpoint::open(single / "")->names(),
            std::vector<std::string>{"x"});
}

TEST_F(CheckpointTest, OpensADirectoryOfFilesWithoutAnIndex) {
  std::filesystem::remove(index);
  Expected<Checkpoint> checkpoint = Checkpoint::open(directory / "");
  ASSERT_TRUE(checkpoint) << checkpoint.message();
  EXPECT_EQ(checkpoint->names(), (std::vector<std::string>{"a", "b", "c"}));
  std::vector<NamedTensor> again = {{"b", Tensor()}};
  ASSERT_TRUE(writeSafetensors(directory / "m-3.safetensors", again));
  EXPECT_EQ(Checkpoint::open(directory / "").message(),
            directory / "" + ": expected one tensor 'b', but got two, in '" +
                directory / "m-1.safetensors" + "' and '" +
                directory / "m-3.safetensors" + "'");
}

TEST_F(CheckpointTest, TensorMustBeInItsShard) {
  writeIndex(R"({"weight_map":{"z":"m-1.safetensors"}})");
  EXPECT_EQ(Checkpoint::open(index).message(),
            index + ": expected tensor 'z' in 'm-1.safetensors', but that file "
                    "has none of that name");
}

TEST_F(CheckpointTest, MissingShardIsNamed) {
  writeIndex(R"({"weight_map":{"z":"m-3.safetensors"}})");
  EXPECT_EQ(Checkpoint::open(index).message(),
            directory / "m-3.safetensors" +
                ": cannot open the file: No such file or directory");
}

TEST_F(CheckpointTest, LoadsByEveryKindOfReference) {
  ASSERT_TRUE(writeNpy(directory / "a.npy", counting(DType::I32, {4})));
  EXPECT_EQ(load(directory / "a.npy"), "[4] i32");
  EXPECT_EQ(load(directory / "a.npy@f32"), "[4] f32");
  EXPECT_EQ(load(directory / "m-1.safetensors:b"), "[3] u8");
  EXPECT_EQ(load(directory / "m-1.safetensors:b@f8_e4m3fn"), "[3] f8_e4m3fn");
  EXPECT_EQ(load(directory / "m-2.safetensors"), "[2, 2] u8");
  EXPECT_EQ(load(index + ":c"), "[2, 2] u8");
  EXPECT_EQ(load(directory / ":a"), "[2] u8");
}

TEST_F(CheckpointTest, LoadDiagnostics) {
  EXPECT_EQ(load(directory / "m-1.safetensors"),
            directory / "m-1.safetensors" +
                ": expected ':' and the name of a tensor, but got none, and "
                "the file has 2: 'a', 'b'");
  EXPECT_EQ(load(index + ":bb"),
            index + ": expected a tensor 'bb', but the checkpoint has none of "
                    "that name; the nearest is 'b'");
}

TEST_F(CheckpointTest, LoaderKeepsCheckpointsOpen) {
  TensorLoader loader;
  ASSERT_TRUE(loader.load(directory / "m-2.safetensors:c"));
  std::filesystem::remove(directory / "m-2.safetensors");
  EXPECT_TRUE(loader.load(directory / "m-2.safetensors:c"));
}

struct BadIndex {
  const char *name;
  std::string content;
  std::string message;
};

class IndexDiagnostic : public testing::TestWithParam<BadIndex> {};

TEST_P(IndexDiagnostic, IsReported) {
  auto map = parseCheckpointIndex("f", GetParam().content);
  ASSERT_FALSE(map);
  EXPECT_EQ(map.message(), "f: " + GetParam().message);
}

static const BadIndex badIndices[] = {
    {"Empty", "", "expected JSON, but got a syntax error at byte 1 near ''"},
    {"NoObject", "[]", "expected a JSON object, but got an array"},
    {"Number", "1", "expected a JSON object, but got 1"},
    {"NoMap", "{\"metadata\":{\"weight_map\":{}}}",
     "expected the key 'weight_map', but got none"},
    {"MapKind", "{\"weight_map\":[]}",
     "expected an object for 'weight_map', but got an array"},
    {"MapString", "{\"weight_map\":\"x\"}",
     "expected an object for 'weight_map', but got the string 'x'"},
    {"MapTwice", "{\"weight_map\":{},\"weight_map\":{}}",
     "expected one key 'weight_map', but got two"},
    {"TensorTwice", R"({"weight_map":{"a":"x","a":"x"}})",
     "expected one tensor 'a', but got two"},
    {"ValueKind", R"({"weight_map":{"a":1}})",
     "expected a file name for tensor 'a', but got 1"},
    {"ValueObject", R"({"weight_map":{"a":{}}})",
     "expected a file name for tensor 'a', but got an object"},
    {"Absolute", R"({"weight_map":{"a":"/etc/passwd"}})",
     "expected a plain file name for tensor 'a', but got '/etc/passwd'"},
    {"Parent", R"({"weight_map":{"a":".."}})",
     "expected a plain file name for tensor 'a', but got '..'"},
    {"NoName", R"({"weight_map":{"a":""}})",
     "expected a plain file name for tensor 'a', but got ''"},
    {"ZeroInName", R"({"weight_map":{"a":"x\u0000y"}})",
     "expected a plain file name for tensor 'a', but got 'x\\x00y'"},
    {"Deep", "{\"metadata\":" + std::string(1000000, '['),
     "expected JSON nested at most 64 deep, but got more"},
};

INSTANTIATE_TEST_SUITE_P(Table, IndexDiagnostic, testing::ValuesIn(badIndices),
                         [](const auto &info) { return info.param.name; });

TEST(TensorRefTest, ParsesAndPrints) {
  using Kind = TensorRef::Kind;
  struct {
    const char *spec, *path, *tensor;
    Kind kind;
    std::optional<DType> dtype;
  } cases[] = {
      {"a.npy", "a.npy", "", Kind::Npy, std::nullopt},
      {"a@b/c.npy@bf16", "a@b/c.npy", "", Kind::Npy, DType::BF16},
      {"c:x.npy", "c:x.npy", "", Kind::Npy, std::nullopt},
      {"m.safetensors", "m.safetensors", "", Kind::Safetensors, std::nullopt},
      {"m.safetensors:l.0.w", "m.safetensors", "l.0.w", Kind::Safetensors,
       std::nullopt},
      {"m.safetensors:a:b@u8", "m.safetensors", "a:b", Kind::Safetensors,
       DType::U8},
      {"m.safetensors.index.json:w", "m.safetensors.index.json", "w",
       Kind::Safetensors, std::nullopt},
      {"dir/:w@f8_e4m3fn", "dir/", "w", Kind::Safetensors, DType::F8E4M3FN},
      {"m.safetensors:x.npy", "m.safetensors", "x.npy", Kind::Safetensors,
       std::nullopt},
  };
  for (const auto &test : cases) {
    Expected<TensorRef> ref = TensorRef::parse(test.spec);
    ASSERT_TRUE(ref) << ref.message();
    EXPECT_EQ(ref->path, test.path);
    EXPECT_EQ(ref->tensor, test.tensor);
    EXPECT_EQ(ref->kind, test.kind);
    EXPECT_EQ(ref->dtype, test.dtype);
    EXPECT_EQ(ref->str(), test.spec);
  }
}

TEST(TensorRefTest, Diagnostics) {
  EXPECT_EQ(TensorRef::parse("a.npy@f9").message(),
            "a.npy@f9: expected a type after '@' (" + listDTypeNames() +
                "), but got 'f9'");
  EXPECT_EQ(TensorRef::parse("m.safetensors:").message(),
            "m.safetensors:: expected the name of a tensor after ':', but got "
            "nothing");
  EXPECT_EQ(TensorRef::parse("a.bin").message(),
            "a.bin: expected 'file.npy', 'file.safetensors:tensor', "
            "'index.json:tensor' or 'directory/:tensor', but got 'a.bin'");
  EXPECT_FALSE(TensorRef::parse(""));
}
