//===- LowerDecoded.cpp - Weights decoded in registers ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loop of `mma_decoded`: a group of wgmma runs while the next piece of K is
// decoded into the other half of the A registers. What ptxas needs for that to
// happen, and what each form here avoids, is in docs/Rationale/Hopper.md.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "nvfp4/Format/WgmmaWeights.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::warpspec;

using Values = SmallVector<Value>;

/// Wider tiles decode 32 columns of K at a time instead of 64: the registers
/// that this saves are needed by accumulators.
static constexpr int64_t kWideTile = 64;
/// With so many registers a thread there is room for both.
static constexpr int64_t kManyRegistersWarpgroups = 2;
/// Slots of at most so many blocks are multiplied by twos.
static constexpr int64_t kBlocksOfPair = 2;

static format::wgmma::Coding getCoding(MmaDecodedOp op) {
  using format::ElementKind;
  format::wgmma::Coding coding;
  auto tokens = cast<MemRefType>(op.getPipeline().getType().getSlots()[1]);
  if (tokens.getElementType().isF16())
    coding.type = format::wgmma::Multiplicand::F16;
  if (op.getCode() != WeightCode::E2M1_UE4M3)
    coding.scale = format::ScaleKind::E8M0;
  if (op.getCode() == WeightCode::E4M3_UE8M0)
    coding.element = ElementKind::E4M3;
  else if (op.getCode() == WeightCode::E5M2_UE8M0)
    coding.element = ElementKind::E5M2;
  return coding;
}

namespace nvfp4::warpspec {

/// The loop for one width. All methods build at the insertion point.
class DecodedLoop {
public:
  DecodedLoop(KernelLowering &kernel, MmaDecodedOp op, int64_t width)
      : kernel(kernel), b(kernel.rewriter), loc(op.getLoc()), op(op),
        pipeline(getPipelineOp(op.getPipeline())), width(width),
        blocks(op.getKBlocks()),
        halves(width > kWideTile &&
                       op.getWarpgroups() > kManyRegistersWarpgroups
                   ? 2
                   : 1),
        registers(16 / halves), i32(b.getI32Type()), coding(getCoding(op)) {}

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
    State unpack(ValueRange values) const {
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

  // Statements in PTX.
  Values assemble(StringRef text, StringRef constraints, TypeRange results,
                  ValueRange operands, bool hasEffects);
  Values fill(StringRef text, Type type, size_t count, char letter);
  void pin(Values &values, char letter);
  Value one(StringRef text, StringRef constraints, ValueRange operands,
            bool hasEffects = false) {
    return assemble(text, constraints, i32, operands, hasEffects)[0];
  }

  // Parts of the loop.
  void enter();
  /// The fragment that another block has left.
  Values loadSums();
  void open(const State &state);
  void load(State &state, int64_t block);
  void advance(State &state);
  /// The scales of two k16 steps, for row r in the low half and r + 8 in the
  /// high one.
  std::array<Value, 2> expandScales(Value scales);
  /// A register times the scale of row r, or of row r + 8 if `isBelow`.
  Value scale(Value placed, Value factor, bool isBelow);
  /// Two k16 steps of weights.
  Values decodePair(Value x, Value y, Value scales);
  Values decodeSpread(ArrayRef<Value> words, Value scales);
  Values decodeBytes(ArrayRef<Value> words, Value scales);
  /// (a & mask | b & ~mask) & outer.
  Value select(Value a, Value b, uint32_t mask, uint32_t outer);
  Values decodeSteps(const State &state, int64_t pair);
  /// Piece `half` of the block whose codes are loaded.
  Values decode(const State &state, int64_t half);
  void multiply(State &state, Value tokens, int64_t unit);
  /// True if a round of the loop takes two slots, where there are two.
  bool hasPairs() const { return blocks <= kBlocksOfPair; }
  /// True if each round certainly takes two.
  bool areTwos();
  /// One slot; `previous` is that before it whose last group may still run, or
  /// null. Returns the slot.
  Value stage(State &state, Value more, Value previous);
  void wait(int64_t groups) {
    NVVM::WgmmaWaitGroupSyncOp::create(b, loc, groups);
  }
  /// The role that fills the slot again orders its writes after these reads.
  void release(Value slot) { kernel.signal(pipeline, /*full=*/false, slot); }
  /// Values under a condition, or others.
  Values choose(Value condition, ArrayRef<Value> others,
                llvm::function_ref<Values()> build);

  Value constant(int64_t value) {
    return arith::ConstantIntOp::create(b, loc, value, 32);
  }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value times(Value x, int64_t y) {
    return arith::MulIOp::create(b, loc, x, constant(y));
  }
  Value less(Value x, Value y) {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, x, y);
  }
  Value right(Value x, int64_t by) {
    return by ? Value(arith::ShRUIOp::create(b, loc, x, constant(by))) : x;
  }
  Value left(Value x, int64_t by) {
    return by ? Value(arith::ShLIOp::create(b, loc, x, constant(by))) : x;
  }
  Value rotate(Value x, int64_t by) {
    return LLVM::FshlOp::create(b, loc, x, x, constant(by));
  }

  KernelLowering &kernel;
  IRRewriter &b;
  Location loc;
  MmaDecodedOp op;
  PipelineOp pipeline;
  int64_t width, blocks, halves, registers;
  Type i32;
  format::wgmma::Coding coding;
  /// Addresses of this thread's codes and scales, and of the tokens in units
  /// of 16 bytes, in slot 0.
  Value codes, scales, tokens;
  Value scaleBase, always;
  int64_t weightBytes = 0, tokenBytes = 0;
};

} // namespace nvfp4::warpspec

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

Values DecodedLoop::assemble(StringRef text, StringRef constraints,
                             TypeRange results, ValueRange operands,
                             bool hasEffects) {
  Type result = results.empty() ? Type()
                : results.size() == 1
                    ? results.front()
                    : LLVM::LLVMStructType::getLiteral(
                          op.getContext(), llvm::to_vector(results));
  auto call = LLVM::InlineAsmOp::create(
      b, loc, result ? TypeRange{result} : TypeRange(), operands, text,
      constraints, hasEffects, /*is_align_stack=*/false,
      LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  if (results.size() <= 1)
    return Values(call->getResults());
  Values values;
  for (size_t i = 0; i < results.size(); ++i)
    values.push_back(
        LLVM::ExtractValueOp::create(b, loc, call->getResult(0), i));
  return values;
}

/// `letter` for each of `count` results, tied to as many operands.
static std::string getTied(size_t count, char letter, bool tie) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += (i ? ",=" : "=") + std::string(1, letter);
  for (size_t i = 0; tie && i < count; ++i)
    text += "," + std::to_string(i);
  return text;
}

Values DecodedLoop::fill(StringRef text, Type type, size_t count, char letter) {
  std::string all;
  for (size_t i = 0; i < count; ++i)
    all += (text + " $" + Twine(i) + ", ").str() +
           (letter == 'f' ? "0f00000000;" : "0;");
  return assemble(all, getTied(count, letter, false),
                  SmallVector<Type>(count, type), {}, /*hasEffects=*/true);
}

void DecodedLoop::pin(Values &values, char letter) {
  values = assemble("", getTied(values.size(), letter, true) + ",~{memory}",
                    llvm::to_vector(ValueRange(values).getTypes()), values,
                    /*hasEffects=*/true);
}

Values DecodedLoop::choose(Value condition, ArrayRef<Value> others,
                           llvm::function_ref<Values()> build) {
  auto branch = scf::IfOp::create(b, loc, TypeRange(ValueRange(others)),
                                  condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Values values = build();
  scf::YieldOp::create(b, loc, values);
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, loc, others);
  return Values(branch.getResults());
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

void DecodedLoop::enter() {
  // Read anew for each width, or addresses of all of them would be kept
  // through the loop over tiles.
  Value thread = one("mov.u32 $0, %tid.x;", "=r", {}, true);
  auto bits = [&](int64_t mask) -> Value {
    return arith::AndIOp::create(b, loc, thread, constant(mask));
  };
  auto buffers = kernel.buffers[pipeline];
  Values bases(buffers);
  pin(bases, 'r');
  auto slots = pipeline.getType().getSlots();
  weightBytes = getSharedBytes(cast<MemRefType>(slots[0]));
  tokenBytes = getSharedBytes(cast<MemRefType>(slots[1]));
  Value strip =
      add(bases[0], times(right(thread, 7), blocks * coding.blockBytes()));
  codes = add(strip, times(bits(127), 16));
  scales = add(add(strip, constant(coding.codeBytes())),
               times(right(bits(127), 2), 8));
  // The low word of a descriptor: the address, and a leading offset that
  // nothing reads.
  tokens = arith::OrIOp::create(b, loc, right(bases[1], 4), constant(0x10000));
  if (format::wgmma::usesScaleBase(coding))
    scaleBase = one("mov.b32 $0, 0x70007000;", "=r", {}, true);
  // True, but ptxas must not know: a branch keeps it from scheduling the
  // decoding between the wgmma of one group.
  Value processor = one("mov.u32 $0, %smid;", "=r", {}, true);
  always = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, processor,
                                 constant(-1));
}

Values DecodedLoop::loadSums() {
  Value thread = one("mov.u32 $0, %tid.x;", "=r", {}, true);
  Value base = kernel.getSums(op, op.getSums(), op.getSumsSlot(), thread);
  return kernel.loadPieces(base, 0, width / 2,
                           KernelLowering::getSumsStride(op));
}

void DecodedLoop::open(const State &state) {
  kernel.waitBarrier(kernel.getBarrier(pipeline, /*full=*/true, state.slot),
                     state.phase, Value());
}

void DecodedLoop::load(State &state, int64_t block) {
  Value offset = add(times(state.slot, weightBytes),
                     constant(block * coding.blockBytes()));
  Values words;
  Value from = add(codes, offset);
  for (int64_t i = 0; i < coding.codeBytes(); i += format::wgmma::kCodeBytes)
    words.append(assemble("ld.shared.v4.b32 {$0,$1,$2,$3}, [$4];",
                          "=r,=r,=r,=r,r,~{memory}", {i32, i32, i32, i32},
                          i ? add(from, constant(i)) : from, true));
  Values pair = assemble("ld.shared.v2.b32 {$0,$1}, [$2];", "=r,=r,r,~{memory}",
                         {i32, i32}, add(scales, offset), true);
  words.append(pair);
  state.words = words;
}

void DecodedLoop::advance(State &state) {
  int64_t depth = pipeline.getDepth();
  Value next = add(state.slot, constant(1));
  Value wraps = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, next,
                                      constant(depth));
  Value flipped = arith::XOrIOp::create(b, loc, state.phase, constant(1));
  state.slot = arith::SelectOp::create(b, loc, wraps, constant(0), next);
  state.phase = arith::SelectOp::create(b, loc, wraps, flipped, state.phase);
}

std::array<Value, 2> DecodedLoop::expandScales(Value s) {
  using namespace format::wgmma;
  auto expand = [&](Value word) -> Value {
    if (!usesScaleBase(coding))
      return left(
          arith::AndIOp::create(b, loc, word, constant(kScaleMask)).getResult(),
          kScaleShift);
    // word & kScaleMask | kScaleBase
    return one("lop3.b32 $0, $1, " + std::to_string(kScaleMask) + ", $2, 0xEA;",
               "=r,r,r", {word, scaleBase});
  };
  Value first = expand(s);
  return {first, expand(rotate(s, kScaleRotation))};
}

Value DecodedLoop::scale(Value placed, Value factor, bool isBelow) {
  StringRef half = isBelow ? "h" : "l";
  StringRef type =
      coding.type == format::wgmma::Multiplicand::BF16 ? "bf16" : "f16";
  return one(("{.reg .b16 l, h; .reg .b32 s; mov.b32 {l, h}, $2; mov.b32 s, {" +
              half + ", " + half + "}; mul.rn." + type + "x2 $0, $1, s;}")
                 .str(),
             "=r,r,r", {placed, factor});
}

Value DecodedLoop::select(Value a, Value other, uint32_t mask, uint32_t outer) {
  Value merged = a;
  if (a != other)
    merged = one("lop3.b32 $0, $1, $2, " + std::to_string(mask) + ", 0xE4;",
                 "=r,r,r", {a, other});
  return arith::AndIOp::create(b, loc, merged,
                               constant(static_cast<int32_t>(outer)));
}

Values DecodedLoop::decodePair(Value x, Value y, Value s) {
  using namespace format::wgmma;
  std::array<Value, 2> factors = expandScales(s);
  // kPoolMask ? x : y rotated
  Value shifted = left(y, kPoolShift);
  Value z = one("lop3.b32 $0, $1, $2, " + std::to_string(kPoolMask) + ", 0xE4;",
                "=r,r,r", {x, shifted});
  Values result;
  for (int64_t step = 0; step < 2; ++step)
    for (int64_t i = 0; i < 4; ++i) {
      Value word = i == 3 ? z : step ? y : x;
      int64_t by = i == 3 ? kPoolRotations[step] : kRotations[i];
      // What a rotation by less than 7 brings round is masked out.
      word = by >= 7 ? rotate(word, by) : left(word, by);
      Value magnitude = arith::AndIOp::create(
          b, loc, word, constant(static_cast<int32_t>(kValueMask)));
      // Rows r and r + 8 are scaled by the two halves of a word.
      result.push_back(scale(magnitude, factors[step], i % 2));
    }
  return result;
}

Values DecodedLoop::decodeSpread(ArrayRef<Value> words, Value s) {
  using namespace format::wgmma;
  std::array<Value, 2> factors = expandScales(s);
  Values result;
  for (int64_t step = 0; step < 2; ++step)
    for (int64_t i = 0; i < 4; ++i) {
      auto [sign, magnitude] = kF16Shifts[i];
      Value signs = left(words[step], sign);
      Value others = sign == magnitude ? signs : left(words[step], magnitude);
      result.push_back(scale(select(signs, others, kSignMask, kF16Mask),
                             factors[step], i % 2));
    }
  return result;
}

Values DecodedLoop::decodeBytes(ArrayRef<Value> words, Value s) {
  using namespace format::wgmma;
  std::array<Value, 2> factors = expandScales(s);
  ByteDecoding decoding = getByteDecoding(coding);
  Values result;
  for (int64_t step = 0; step < 2; ++step)
    for (int64_t i = 0; i < 4; ++i) {
      Value word = left(words[2 * step + i / 2], i % 2 * 8);
      Value placed =
          select(word, right(word, decoding.shift), kSignMask, decoding.mask);
      result.push_back(scale(placed, factors[step], i % 2));
    }
  return result;
}

Values DecodedLoop::decodeSteps(const State &state, int64_t pair) {
  ArrayRef<Value> words = state.words;
  Value s = words[words.size() - 2 + pair];
  if (coding.element != format::ElementKind::E2M1)
    return decodeBytes(words.slice(4 * pair, 4), s);
  if (coding.type == format::wgmma::Multiplicand::F16)
    return decodeSpread(words.slice(2 * pair, 2), s);
  return decodePair(words[2 * pair], words[2 * pair + 1], s);
}

Values DecodedLoop::decode(const State &state, int64_t half) {
  if (halves == 2)
    return decodeSteps(state, half);
  Values result = decodeSteps(state, 0);
  result.append(decodeSteps(state, 1));
  return result;
}

static bool isEven(Value value) {
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return !number[0];
  auto product = value.getDefiningOp<arith::MulIOp>();
  return product && (isEven(product.getLhs()) || isEven(product.getRhs()));
}

bool DecodedLoop::areTwos() {
  return hasPairs() && isEven(op.getFrom()) && isEven(op.getTo());
}

void DecodedLoop::multiply(State &state, Value base, int64_t unit) {
  NVVM::WgmmaFenceAlignedOp::create(b, loc);
  size_t count = state.acc.size();
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "{.reg .pred p; .reg .b64 d; .reg .b32 h; mov.b32 h, 0x40000040; "
     << "mov.b64 d, {$" << 2 * count + 4 << ", h}; setp.eq.u32 p, 0, 0; "
     << "wgmma.mma_async.sync.aligned.m64n" << width << "k16.f32."
     << (coding.type == format::wgmma::Multiplicand::BF16 ? "bf16.bf16"
                                                          : "f16.f16")
     << " {";
  for (size_t i = 0; i < count; ++i)
    os << (i ? ", $" : "$") << i;
  os << "}, {$" << 2 * count << ", $" << 2 * count + 1 << ", $" << 2 * count + 2
     << ", $" << 2 * count + 3 << "}, d, p, 1, 1, 0;}";
  std::string constraints = getTied(count, 'f', true) + ",r,r,r,r,r";
  const Values &a = state.a[unit % 2];
  for (int64_t j = 0; j < registers / 4; ++j) {
    // Blocks of K lie `width` rows of 128 bytes apart, steps 32 bytes.
    int64_t offset = unit / halves * width * 8 + unit % halves * 4 + j * 2;
    Values operands(state.acc);
    operands.append(a.begin() + 4 * j, a.begin() + 4 * j + 4);
    operands.push_back(offset ? add(base, constant(offset)) : base);
    state.acc = assemble(text, constraints,
                         SmallVector<Type>(count, b.getF32Type()), operands,
                         /*hasEffects=*/true);
  }
  NVVM::WgmmaGroupSyncAlignedOp::create(b, loc);
  // Decoding stays behind the issue.
  pin(state.words, 'r');
}

Value DecodedLoop::stage(State &state, Value more, Value previous) {
  int64_t units = blocks * halves;
  // From one lane: the rest is uniform arithmetic.
  Value base = NVVM::ShflOp::create(
      b, loc, i32, constant(-1),
      add(tokens, times(state.slot, tokenBytes / 16)), constant(0),
      constant(31), NVVM::ShflKind::idx, UnitAttr());
  for (int64_t unit = 0; unit < units; ++unit) {
    if (unit % halves == halves - 1 && unit + 1 < units)
      load(state, (unit + 1) / halves);
    multiply(state, base, unit);
    if (unit == 0 && previous) {
      wait(1);
      release(previous);
    }
    if (unit + 1 == units)
      break;
    if (unit)
      wait(1);
    Values &next = state.a[(unit + 1) % 2];
    next = choose(always, next,
                  [&] { return decode(state, (unit + 1) % halves); });
  }
  Value old = state.slot;
  advance(state);
  state.words = choose(more, state.words, [&] {
    State inner = state;
    open(inner);
    load(inner, 0);
    return inner.words;
  });
  wait(1);
  state.a[0] = choose(more, state.a[0], [&] { return decode(state, 0); });
  return old;
}

Values DecodedLoop::build(Value steps) {
  enter();
  State state;
  state.acc = fill("mov.f32", b.getF32Type(), width / 2, 'f');
  if (op.getSums())
    state.acc = choose(op.getIsAfter(), state.acc, [&] { return loadSums(); });
  state.a[1] = fill("mov.b32", i32, registers, 'r');
  state.slot = op.getStage();
  state.phase = op.getPhase();
  open(state);
  load(state, 0);
  state.a[0] = decode(state, 0);

  Values inits = state.pack();
  inits.push_back(constant(0));
  SmallVector<Type> types(ValueRange(inits).getTypes());
  auto loop = scf::WhileOp::create(b, loc, types, inits);
  OpBuilder::InsertionGuard guard(b);
  Block *body = b.createBlock(&loop.getBefore(), {}, types,
                              SmallVector<Location>(types.size(), loc));
  state = state.unpack(body->getArguments());
  Value step = body->getArguments().back();
  // Nothing is in flight at the back edge: ptxas would keep its A registers
  // alive through the loop over tiles, for every width. So few drains as that
  // leaves: one every 256 columns of K.
  Value second = add(step, constant(1)), end = second;
  // Known to be true, the first of two slots is not the last: no branch.
  Value isPair = areTwos() ? Value(arith::ConstantIntOp::create(b, loc, 1, 1))
                           : less(second, steps);
  Value slot = stage(state, isPair, Value());
  if (hasPairs()) {
    end = add(step, constant(2));
    Values others = state.pack();
    others.push_back(slot);
    Values both = choose(isPair, others, [&] {
      State inner = state;
      Value last = stage(inner, less(end, steps), slot);
      Values values = inner.pack();
      values.push_back(last);
      return values;
    });
    state = state.unpack(both);
    slot = both.back();
  }
  wait(0);
  release(slot);
  Values passed = state.pack();
  passed.push_back(end);
  scf::ConditionOp::create(b, loc, less(end, steps), passed);
  Block *after = b.createBlock(&loop.getAfter(), {}, types,
                               SmallVector<Location>(types.size(), loc));
  scf::YieldOp::create(b, loc, after->getArguments());

  b.setInsertionPointAfter(loop);
  state = state.unpack(loop.getResults());
  pin(state.acc, 'f');
  Values results = state.acc;
  results.append({state.slot, state.phase});
  return results;
}

//===----------------------------------------------------------------------===//
// The operation
//===----------------------------------------------------------------------===//

void KernelLowering::lower(MmaDecodedOp op) {
  int64_t values = op.getMaxWidth() / 2;
  Value steps =
      arith::SubIOp::create(rewriter, loc, getI32(), op.getTo(), op.getFrom());
  Value zero =
      arith::ConstantOp::create(rewriter, loc, rewriter.getF32FloatAttr(0));
  // All widths leave their fragment in the same places, zero beyond it.
  SmallVector<Type> types(values, rewriter.getF32Type());
  types.append(2, getI32());
  auto buildWidth = [&](int64_t width) {
    Values results = DecodedLoop(*this, op, width).build(steps);
    results.insert(results.begin() + width / 2, values - width / 2, zero);
    scf::YieldOp::create(rewriter, loc, results);
  };
  SmallVector<int64_t> widths = op.getWidths();
  OpBuilder::InsertionGuard guard(rewriter);
  Value some = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::sgt,
                                     steps, constant(0));
  auto outer = scf::IfOp::create(rewriter, loc, types, some, true, true);
  rewriter.setInsertionPointToStart(outer.elseBlock());
  Values none(values, zero);
  none.append({op.getStage(), op.getPhase()});
  scf::YieldOp::create(rewriter, loc, none);
  rewriter.setInsertionPointToStart(outer.thenBlock());
  // A tree of comparisons, all before the first loop: a chain would run through
  // the instructions of every narrower loop. Not a switch: ptxas serialises
  // every wgmma behind an indirect branch.
  auto choose = [&](auto &self, ArrayRef<int64_t> some) -> void {
    if (some.size() == 1) {
      buildWidth(some.front());
      return;
    }
    size_t half = some.size() / 2;
    auto opaque = LLVM::InlineAsmOp::create(
        rewriter, loc, TypeRange{getI32()}, ValueRange{op.getWidth()}, "",
        "=r,0", /*has_side_effects=*/true, /*is_align_stack=*/false,
        LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
    Value is = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::slt,
                                     opaque.getResult(0), constant(some[half]));
    auto branch = scf::IfOp::create(rewriter, loc, types, is, true, true);
    scf::YieldOp::create(rewriter, loc, branch.getResults());
    rewriter.setInsertionPointToStart(branch.thenBlock());
    self(self, some.take_front(half));
    rewriter.setInsertionPointToStart(branch.elseBlock());
    self(self, some.drop_front(half));
  };
  choose(choose, widths);
  ValueRange results = outer.getResults();
  fragments[op.getResult()].assign(results.begin(), results.begin() + values);
  op.getNextStage().replaceAllUsesWith(results[values]);
  op.getNextPhase().replaceAllUsesWith(results[values + 1]);
  products.push_back(op);
}
