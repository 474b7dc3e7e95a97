//===- InterfacesTest.cpp - Interfaces of the ends of pipelines -*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every operation at an end of a pipeline says which end it is, whether it
// opens slots, and where the next one at this end stands in the ring.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

namespace nvfp4::warpspec {
namespace {

using namespace mlir;

constexpr const char *kProgram = R"mlir(
!w = memref<4x2304xi8, #warpspec.smem>
!t = memref<1x16x64xbf16, #warpspec.smem<128>>
!in = !warpspec.pipeline<3 x (!w, !t), tma to threads>
!order = !warpspec.pipeline<2 x (), threads to threads>
warpspec.kernel @k(%steps: i32, %n: i32) {
  %w = warpspec.smem_alloc : memref<3x4x2304xi8, #warpspec.smem>
  %t = warpspec.smem_alloc : memref<3x1x16x64xbf16, #warpspec.smem<128>>
  %in = warpspec.pipeline(%w, %t) tma to threads
      : memref<3x4x2304xi8, #warpspec.smem>,
        memref<3x1x16x64xbf16, #warpspec.smem<128>>
  %order = warpspec.pipeline() depth 2 threads to threads
  warpspec.roles
  role @load warps(1) {
    %fill, %dst:2 = warpspec.acquire %in : !in
    warpspec.commit %fill
    %may = warpspec.try_acquire %order : !order
    %next = warpspec.acquire %order ready(%may) : !order
    warpspec.commit %next
    warpspec.drain_all %order : !order
  }
  role @math warps(16) {
    %c0 = arith.constant 0 : i32
    %acc, %stage, %phase = warpspec.mma_decoded %in from %c0 to %steps
        width(%n) step 16 : !in -> vector<8xf32>
    %is = warpspec.try_wait %order : !order
    %drain = warpspec.wait %order ready(%is) : !order
    warpspec.release %drain
  }
})mlir";

class InterfacesTest : public testing::Test {
protected:
  InterfacesTest() {
    context
        .loadDialect<WarpSpecDialect, arith::ArithDialect, gpu::GPUDialect>();
    module = parseSourceString<ModuleOp>(kProgram, &context);
  }

  /// Number `number` of the operations `Op`.
  template <typename Op> PipelineEndOpInterface find(unsigned number = 0) {
    SmallVector<Op> found;
    module->walk([&](Op op) { found.push_back(op); });
    return cast<PipelineEndOpInterface>(found[number].getOperation());
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(InterfacesTest, EndsAreThoseOfProducerAndConsumer) {
  ASSERT_TRUE(module);
  for (PipelineEndOpInterface op :
       {find<AcquireOp>(), find<TryAcquireOp>(), find<DrainAllOp>()})
    EXPECT_TRUE(op.fillsSlots()) << op->getName().getStringRef().str();
  for (PipelineEndOpInterface op :
       {find<WaitOp>(), find<TryWaitOp>(), find<MmaDecodedOp>()})
    EXPECT_FALSE(op.fillsSlots()) << op->getName().getStringRef().str();
  EXPECT_TRUE(find<AcquireOp>(1).getEnd() == find<TryAcquireOp>().getEnd());
  EXPECT_FALSE(find<AcquireOp>(0).getEnd() == find<AcquireOp>(1).getEnd());
  EXPECT_FALSE(find<AcquireOp>(1).getEnd() == find<WaitOp>().getEnd());
}

TEST_F(InterfacesTest, QuestionsOpenNoSlots) {
  ASSERT_TRUE(module);
  for (PipelineEndOpInterface op :
       {find<AcquireOp>(), find<WaitOp>(), find<MmaDecodedOp>()})
    EXPECT_TRUE(op.opensSlots()) << op->getName().getStringRef().str();
  for (PipelineEndOpInterface op :
       {find<TryAcquireOp>(), find<TryWaitOp>(), find<DrainAllOp>()})
    EXPECT_FALSE(op.opensSlots()) << op->getName().getStringRef().str();
}

TEST_F(InterfacesTest, PositionsAdvanceByWhatIsOpened) {
  ASSERT_TRUE(module);
  OpBuilder b(&context);
  PipelineEndOpInterface ask = find<TryAcquireOp>(), open = find<AcquireOp>(1);
  b.setInsertionPoint(ask);
  Location loc = ask.getLoc();
  RingPosition first{arith::ConstantIntOp::create(b, loc, 1, 32),
                     arith::ConstantIntOp::create(b, loc, 0, 32)};
  EXPECT_FALSE(ask.hasPosition());
  ask.setPosition(first);
  EXPECT_TRUE(ask.hasPosition());
  RingPosition same = ask.getNextPosition(b);
  EXPECT_EQ(same.stage, first.stage);
  EXPECT_EQ(same.phase, first.phase);
  open.setPosition(first);
  RingPosition next = open.getNextPosition(b);
  // Slot 1 of 2 is the last: the next is slot 0, of the other phase.
  auto stage = next.stage.getDefiningOp<arith::SelectOp>();
  ASSERT_TRUE(stage);
  EXPECT_TRUE(matchPattern(stage.getTrueValue(), m_Zero()));
  EXPECT_TRUE(next.phase.getDefiningOp<arith::SelectOp>());
  EXPECT_TRUE(open->isBeforeInBlock(stage));
}

TEST_F(InterfacesTest, LoopOpensSlotsOfItsSteps) {
  ASSERT_TRUE(module);
  auto loop = cast<SlotLoopOpInterface>(find<MmaDecodedOp>().getOperation());
  EXPECT_TRUE(matchPattern(loop.getFrom(), m_Zero()));
  EXPECT_TRUE(isa<BlockArgument>(loop.getTo()));
  OpBuilder b(&context);
  RingPosition next = loop.getNextPosition(b);
  EXPECT_EQ(next.stage, loop->getResult(1));
  EXPECT_EQ(next.phase, loop->getResult(2));
  EXPECT_FALSE(isa<SlotLoopOpInterface>(find<WaitOp>().getOperation()));
  EXPECT_TRUE(
      cast<AgentOpInterface>(loop.getOperation()).isOfFirstWarpgroups());
}

} // namespace
} // namespace nvfp4::warpspec
