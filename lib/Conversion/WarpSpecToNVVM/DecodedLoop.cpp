//===- DecodedLoop.cpp - The loop of mma_decoded for one width --*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Slots in turn: opened, loaded, decoded, multiplied, released.
//
//===----------------------------------------------------------------------===//

#include "DecodedLoop.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::warpspec;

using Values = DecodedLoop::Values;

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

DecodedOperands::DecodedOperands(
    MmaDecodedOp::GenericAdaptor<ArrayRef<ValueRange>> adaptor) {
  auto get = [](ValueRange values) {
    return values.empty() ? Value() : values.front();
  };
  from = get(adaptor.getFrom());
  to = get(adaptor.getTo());
  width = get(adaptor.getWidth());
  sums = get(adaptor.getSums());
  sumsSlot = get(adaptor.getSumsSlot());
  isAfter = get(adaptor.getIsAfter());
  stage = get(adaptor.getStage());
  phase = get(adaptor.getPhase());
  weights = adaptor.getPipeline()[0];
  tokens = adaptor.getPipeline()[1];
}

DecodedLoop::DecodedLoop(BarrierBuilder &barriers, MmaDecodedOp op,
                         const DecodedOperands &operands,
                         const PipelineFacts &pipeline, int64_t width)
    : barriers(barriers), b(barriers.b), loc(op.getLoc()), op(op),
      operands(operands), pipeline(pipeline), width(width),
      blocks(op.getKBlocks()),
      halves(width > kWideTile && op.getWarpgroups() > kManyRegistersWarpgroups
                 ? 2
                 : 1),
      registers(16 / halves), i32(b.getI32Type()), coding(getCoding(op)) {}

void DecodedLoop::enter() {
  // Read anew for each width, or addresses of all of them would be kept
  // through the loop over tiles.
  Value thread = one("mov.u32 $0, %tid.x;", "=r", {}, true);
  auto bits = [&](int64_t mask) -> Value {
    return arith::AndIOp::create(b, loc, thread, constant(mask));
  };
  Values bases{operands.weights, operands.tokens};
  pin(bases, 'r');
  weightBytes = pipeline.strides[0];
  tokenBytes = pipeline.strides[1];
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
  SumsLayout layout{op.getWarpgroups(), getFragmentSize(op.getResult())};
  Value address =
      layout.getAddress(barriers, operands.sums, operands.sumsSlot, thread);
  return layout.load(barriers, address, 0, width / 2);
}

void DecodedLoop::open(const State &state) {
  barriers.waitBarrier(barriers.getBarrier(pipeline, /*full=*/true, state.slot),
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

static bool isEven(Value value) {
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return !number[0];
  auto product = value.getDefiningOp<arith::MulIOp>();
  return product && (isEven(product.getLhs()) || isEven(product.getRhs()));
}

bool DecodedLoop::hasPairs() const { return blocks <= kBlocksOfPair; }

bool DecodedLoop::areTwos() {
  return hasPairs() && isEven(operands.from) && isEven(operands.to);
}

void DecodedLoop::multiply(State &state, Value base, int64_t unit) {
  size_t count = state.acc.size(), steps = registers / 4;
  // One statement for all steps: of each, every accumulator would be an operand
  // and a result, which is most of what a kernel takes to compile.
  std::string text;
  llvm::raw_string_ostream os(text);
  size_t fragment = 2 * count, address = fragment + registers;
  os << "{.reg .pred p; .reg .b64 d; .reg .b32 l; setp.eq.u32 p, 0, 0; "
     << "wgmma.fence.sync.aligned; ";
  for (size_t step = 0; step < steps; ++step) {
    // Blocks of K lie `width` rows of 128 bytes apart, steps 32 bytes.
    int64_t offset = unit / halves * width * 8 + unit % halves * 4 +
                     static_cast<int64_t>(step) * 2;
    // The high word of a descriptor is the same for all.
    os << "add.u32 l, $" << address << ", " << offset
       << "; mov.b64 d, {l, 0x40000040}; "
       << "wgmma.mma_async.sync.aligned.m64n" << width << "k16.f32."
       << (coding.type == format::wgmma::Multiplicand::BF16 ? "bf16.bf16"
                                                            : "f16.f16")
       << " {";
    for (size_t i = 0; i < count; ++i)
      os << (i ? ", $" : "$") << i;
    os << "}, {";
    for (size_t i = 0; i < 4; ++i)
      os << (i ? ", $" : "$") << fragment + 4 * step + i;
    os << "}, d, p, 1, 1, 0; ";
  }
  os << "wgmma.commit_group.sync.aligned;}";
  std::string constraints = getConstraints(count, 'f', true);
  for (int64_t i = 0; i <= registers; ++i)
    constraints += ",r";
  Values operands(state.acc);
  operands.append(state.a[unit % 2]);
  operands.push_back(base);
  state.acc =
      assemble(text, constraints, SmallVector<Type>(count, b.getF32Type()),
               operands, /*hasEffects=*/true);
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
  RingPosition next =
      advance(b, loc, {state.slot, state.phase}, pipeline.depth);
  state.slot = next.stage;
  state.phase = next.phase;
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
  if (operands.sums)
    state.acc = choose(operands.isAfter, state.acc, [&] { return loadSums(); });
  state.a[1] = fill("mov.b32", i32, registers, 'r');
  state.slot = operands.stage;
  state.phase = operands.phase;
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
