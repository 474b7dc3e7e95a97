//===- WarpSpec.h - The dialect's public header -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Types, attributes and operations of `warpspec`, and what can be read off
// them: the pipeline of a token, the token of a slot, the hand-over protocol.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_WARPSPEC_IR_WARPSPEC_H
#define NVFP4_DIALECT_WARPSPEC_IR_WARPSPEC_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

#include "nvfp4/Dialect/DeviceMemory.h"

#include "nvfp4/Dialect/WarpSpec/IR/WarpSpecDialect.h.inc"
#include "nvfp4/Dialect/WarpSpec/IR/WarpSpecEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "nvfp4/Dialect/WarpSpec/IR/WarpSpecAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "nvfp4/Dialect/WarpSpec/IR/WarpSpecTypes.h.inc"

namespace nvfp4::warpspec {

class KernelOp;
class PipelineOp;
class RolesOp;

/// One buffer that an operation touches.
struct BufferAccess {
  mlir::OpOperand *buffer;
  bool reads;
  bool writes;
};

/// One end of a pipeline.
struct PipelineEnd {
  mlir::Value pipeline;
  /// The producer's end.
  bool fills = false;

  bool operator==(const PipelineEnd &other) const {
    return pipeline == other.pipeline && fills == other.fills;
  }
};

/// The place of an end in its ring, both i32: the slot, and the parity of the
/// rounds that are complete.
struct RingPosition {
  mlir::Value stage, phase;
};

class PipelineEndOpInterface;
/// The position after that of `op` if it opens slots, built after it; else its
/// own.
RingPosition buildNextPosition(PipelineEndOpInterface op,
                               mlir::OpBuilder &builder);

} // namespace nvfp4::warpspec

#include "nvfp4/Dialect/WarpSpec/IR/WarpSpecInterfaces.h.inc"

#define GET_OP_CLASSES
#include "nvfp4/Dialect/WarpSpec/IR/WarpSpecOps.h.inc"

namespace nvfp4::warpspec {

/// Bytes of shared memory on sm_100 and sm_90 that one block may use.
inline constexpr int64_t kSharedBytesLimit = 232448;
/// Columns of tensor memory.
inline constexpr int64_t kTmemColumns = 512;
inline constexpr int64_t kTmemLanes = 128;
/// Bytes of one atom of scales in the 128x4 layout.
inline constexpr int64_t kScaleAtomBytes = 512;

bool isSmem(mlir::Type type);
bool isTmem(mlir::Type type);
/// Span of the swizzle of a buffer in shared memory, 0 for none.
unsigned getSwizzle(mlir::MemRefType type);
/// Bytes of a buffer in shared memory: packed, row-major.
int64_t getSharedBytes(mlir::MemRefType type);
/// Required alignment of a buffer in shared memory, in bytes.
int64_t getSharedAlignment(mlir::MemRefType type);
/// Columns of tensor memory of all slots of a buffer.
int64_t getTmemColumns(mlir::MemRefType type);
/// The type of one slot: without the leading dimension.
mlir::MemRefType getSlotType(mlir::MemRefType type);

/// The value that `value` is a view of, or that a loop or a branch passes on
/// unchanged: `tmem_slice` and other views, and block arguments and results of
/// loops whose initial value it is.
mlir::Value getOrigin(mlir::Value value);

/// The acquire or wait that opened `token`, through loops; null if it cannot be
/// told.
mlir::Operation *getOpener(mlir::Value token);

/// The acquire or wait one of whose slot buffers `buffer` is a view of; null
/// for buffers of an allocation or of unknown origin.
mlir::Operation *getSlotOpener(mlir::Value buffer);

/// The pipeline whose slot `token` opened; null if it cannot be told.
PipelineOp getPipelineOf(mlir::Value token);

/// The pipeline operation behind a value of pipeline type.
PipelineOp getPipelineOp(mlir::Value pipeline);

/// How a side of a pipeline learns that the other is done.
enum class Signal {
  /// Nothing: both sides are in one order already.
  None,
  /// One thread expects bytes and arrives; copies complete them.
  Bytes,
  /// One arrival for each warp of each role on that side.
  WarpArrival,
  /// `tcgen05.commit` by the issuing thread.
  TensorCommit,
  /// A bulk group of the issuing thread.
  BulkGroup,
};

/// The protocol of a pair of agents: the table of the pipeline operation.
struct HandOver {
  /// What makes a slot full.
  Signal full;
  /// What makes a slot empty again.
  Signal empty;
  /// Both sides must be the same role.
  bool sameRole;
};

/// The protocol between `producer` and `consumer`; nullopt if there is none.
std::optional<HandOver> getHandOver(Agent producer, Agent consumer);

/// The position after `position` in a ring of `depth` slots: the one place that
/// has the formula.
RingPosition advance(mlir::OpBuilder &builder, mlir::Location loc,
                     RingPosition position, int64_t depth);

/// True if a side of the pipeline waits at barriers in shared memory.
bool needsBarriers(PipelineOp pipeline);

/// Every place that warpspec-plan-memory chooses is known: of allocations and
/// barriers, and the sizes of the kernel. Fails with a diagnostic that names
/// the pass.
mlir::LogicalResult verifyPlanned(KernelOp kernel);

} // namespace nvfp4::warpspec

#endif // NVFP4_DIALECT_WARPSPEC_IR_WARPSPEC_H
