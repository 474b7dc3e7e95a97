//===- DecodedLoop.h - The loop of mma_decoded for one width ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A group of wgmma runs while the next piece of K is decoded into the other
// half of the A registers. What ptxas needs for that to happen, and what each
// form here avoids, is in docs/Rationale/Hopper.md.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_WARPSPECTONVVM_DECODEDLOOP_H
#define NVFP4_LIB_CONVERSION_WARPSPECTONVVM_DECODEDLOOP_H

#include "BarrierBuilder.h"
#include "Fragment.h"
#include "nvfp4/Format/WgmmaWeights.h"

#include <array>

namespace nvfp4::warpspec {

/// The operands of `mma_decoded` once they are converted; null where it has
/// none.
struct DecodedOperands {
  mlir::Value from, to, width, sums, sumsSlot, isAfter, stage, phase;
  /// Where weights and tokens of slot 0 are in shared memory.
  mlir::Value weights, tokens;

  explicit DecodedOperands(
      MmaDecodedOp::GenericAdaptor<llvm::ArrayRef<mlir::ValueRange>> adaptor);
};

/// The loop for one width. All methods build at the insertion point.
class DecodedLoop {
public:
  using Value = mlir::Value;
  using Values = llvm::SmallVector<Value>;

  DecodedLoop(BarrierBuilder &barriers, MmaDecodedOp op,
              const DecodedOperands &operands, const PipelineFacts &pipeline,
              int64_t width);

  /// Values of the fragment, then the stage and phase that follow.
  Values build(Value steps);

private:
  /// What one stage hands to the next.
  struct State {
    Values acc, a[2];
    /// Codes of a block of K, and its scales.
    Values words;
    Value slot, phase;

    Values pack() const {
      Values all(acc);
      for (const Values *part : {&a[0], &a[1], &words})
        all.append(part->begin(), part->end());
      all.append({slot, phase});
      return all;
    }
    State unpack(mlir::ValueRange values) const {
      State state;
      auto take = [&](size_t count) {
        Values part(values.take_front(count));
        values = values.drop_front(count);
        return part;
      };
      state.acc = take(acc.size());
      state.a[0] = take(a[0].size());
      state.a[1] = take(a[1].size());
      state.words = take(words.size());
      state.slot = values[0];
      state.phase = values[1];
      return state;
    }
  };

  // Statements in PTX (DecodedWeights.cpp).
  /// `letter` for each of `count` results, tied to as many operands if `tie`.
  static std::string getConstraints(size_t count, char letter, bool tie);
  Values assemble(llvm::StringRef text, llvm::StringRef constraints,
                  mlir::TypeRange results, mlir::ValueRange operands,
                  bool hasEffects) {
    return nvfp4::warpspec::assemble(b, loc, text, constraints, results,
                                     operands, hasEffects);
  }
  Values fill(llvm::StringRef text, mlir::Type type, size_t count, char letter);
  void pin(Values &values, char letter);
  Value one(llvm::StringRef text, llvm::StringRef constraints,
            mlir::ValueRange operands, bool hasEffects = false) {
    return assemble(text, constraints, i32, operands, hasEffects)[0];
  }
  /// Values under a condition, or others.
  Values choose(Value condition, llvm::ArrayRef<Value> others,
                llvm::function_ref<Values()> build);

  // Parts of the loop (DecodedLoop.cpp).
  void enter();
  /// The fragment that another block has left.
  Values loadSums();
  void open(const State &state);
  void load(State &state, int64_t block);
  void multiply(State &state, Value tokens, int64_t unit);
  /// True if a round of the loop takes two slots, where there are two.
  bool hasPairs() const;
  /// True if each round certainly takes two.
  bool areTwos();
  /// One slot; `previous` is that before it whose last group may still run, or
  /// null. Returns the slot.
  Value stage(State &state, Value more, Value previous);
  void wait(int64_t groups) {
    mlir::NVVM::WgmmaWaitGroupSyncOp::create(b, loc, groups);
  }
  /// The role that fills the slot again orders its writes after these reads.
  void release(Value slot) { barriers.signal(pipeline, /*full=*/false, slot); }

  // Decoding (DecodedWeights.cpp).
  /// The scales of two k16 steps, for row r in the low half and r + 8 in the
  /// high one.
  std::array<Value, 2> expandScales(Value scales);
  /// A register times the scale of row r, or of row r + 8 if `isBelow`.
  Value scale(Value placed, Value factor, bool isBelow);
  /// Two k16 steps of weights.
  Values decodePair(Value x, Value y, Value scales);
  Values decodeSpread(llvm::ArrayRef<Value> words, Value scales);
  Values decodeBytes(llvm::ArrayRef<Value> words, Value scales);
  /// (a & mask | b & ~mask) & outer.
  Value select(Value a, Value b, uint32_t mask, uint32_t outer);
  Values decodeSteps(const State &state, int64_t pair);
  /// Piece `half` of the block whose codes are loaded.
  Values decode(const State &state, int64_t half);

  Value constant(int64_t value) {
    return mlir::arith::ConstantIntOp::create(b, loc, value, 32);
  }
  Value add(Value x, Value y) {
    return mlir::arith::AddIOp::create(b, loc, x, y);
  }
  Value times(Value x, int64_t y) {
    return mlir::arith::MulIOp::create(b, loc, x, constant(y));
  }
  Value less(Value x, Value y) {
    return mlir::arith::CmpIOp::create(b, loc, mlir::arith::CmpIPredicate::slt,
                                       x, y);
  }
  Value right(Value x, int64_t by) {
    return by ? Value(mlir::arith::ShRUIOp::create(b, loc, x, constant(by)))
              : x;
  }
  Value left(Value x, int64_t by) {
    return by ? Value(mlir::arith::ShLIOp::create(b, loc, x, constant(by))) : x;
  }
  Value rotate(Value x, int64_t by) {
    return mlir::LLVM::FshlOp::create(b, loc, x, x, constant(by));
  }

  BarrierBuilder &barriers;
  mlir::OpBuilder &b;
  mlir::Location loc;
  MmaDecodedOp op;
  const DecodedOperands &operands;
  const PipelineFacts &pipeline;
  int64_t width, blocks, halves, registers;
  mlir::Type i32;
  format::wgmma::Coding coding;
  /// Addresses of this thread's codes and scales, and of the tokens in units
  /// of 16 bytes, in slot 0.
  Value codes, scales, tokens;
  Value scaleBase, always;
  int64_t weightBytes = 0, tokenBytes = 0;
};

} // namespace nvfp4::warpspec

#endif // NVFP4_LIB_CONVERSION_WARPSPECTONVVM_DECODEDLOOP_H
