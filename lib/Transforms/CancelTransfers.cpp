//===- CancelTransfers.cpp - nvfp4-cancel-transfers -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Straight-line code: first every copy is told what its source is a copy of,
// then copies and memory that nobody needs are removed until none is left.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Transforms/Passes.h"

#include "nvfp4/Dialect/WarpSpec/IR/MemoryUses.h"
#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

#include "llvm/ADT/SmallVectorExtras.h"

namespace nvfp4 {
#define GEN_PASS_DEF_CANCELTRANSFERSPASS
#include "nvfp4/Transforms/Passes.h.inc"
} // namespace nvfp4

using namespace mlir;
using namespace nvfp4;
using warpspec::getRoot;
using warpspec::isName;

namespace {

/// A copy of a whole memref.
struct Copy {
  OpOperand *target = nullptr, *source = nullptr;
  explicit operator bool() const { return target; }
};

Copy getCopy(Operation *op) {
  if (auto copy = dyn_cast<gpu::MemcpyOp>(op);
      copy && copy.getAsyncDependencies().empty() && !copy.getAsyncToken())
    return {&copy.getDstMutable(), &copy.getSrcMutable()};
  if (auto copy = dyn_cast<memref::CopyOp>(op))
    return {&copy.getTargetMutable(), &copy.getSourceMutable()};
  return {};
}

bool isAllocation(Operation *op) {
  return isa_and_nonnull<memref::AllocOp, gpu::AllocOp>(op);
}

bool isDeallocation(Operation *op) {
  return isa<memref::DeallocOp, gpu::DeallocOp>(op);
}

/// The users of a memref, by any name.
SmallVector<Operation *> getUsers(Value memref) {
  SmallVector<OpOperand *> uses;
  warpspec::collectUses(memref, uses);
  return llvm::map_to_vector(uses,
                             [](OpOperand *use) { return use->getOwner(); });
}

/// Whether `op` makes a tensor map of which launches alone know.
bool isMapOfLaunches(Operation *op) {
  return isa<warpspec::EncodeTensorMapOp>(op) &&
         llvm::all_of(op->getUsers(), llvm::IsaPred<warpspec::LaunchOp>);
}

/// Whether `user` gives the memory another name, by which it may be used then:
/// it passes it on, or takes its address. What a function returns has no use
/// after.
bool isEscape(Operation *user) {
  if (isa<ViewLikeOpInterface, memref::DimOp, func::ReturnOp>(user) ||
      isMapOfLaunches(user))
    return false;
  return !isa<MemoryEffectOpInterface>(user) || isMemoryEffectFree(user) ||
         isa<warpspec::WriteTableOp>(user) ||
         user->hasTrait<OpTrait::IsTerminator>() ||
         llvm::any_of(user->getResultTypes(), llvm::IsaPred<BaseMemRefType>);
}

/// Remembers which memory is local. That stays true where copies and
/// allocations are removed, because no memory gets another name.
class Memory {
public:
  /// Memory of the function's own, which has no other name than views of it.
  bool isLocal(Value root) {
    auto [place, isNew] = local.try_emplace(root, false);
    if (isNew)
      place->second = isAllocation(root.getDefiningOp()) &&
                      llvm::none_of(getUsers(root), isEscape);
    return place->second;
  }

  /// Whether both may be the same memory.
  bool mayAlias(Value a, Value b) {
    Value first = getRoot(a), second = getRoot(b);
    return first == second || (!isLocal(first) && !isLocal(second));
  }

  /// Whether `op` may do `Effect` to the memory of `memref`. An effect on no
  /// value is one on memory that has no name here, or of a call that is not
  /// known on what is not the function's own.
  template <typename Effect> bool mayAffect(Operation *op, Value memref);

private:
  /// By roots. Each is asked of many others.
  DenseMap<Value, bool> local;
};

Attribute getSpace(Value memref) {
  return cast<BaseMemRefType>(memref.getType()).getMemorySpace();
}

/// Calls `use` for each effect of `op` and of what is in it on a value; null
/// stands for one that is not known.
void forEachEffect(Operation *op,
                   function_ref<void(MemoryEffects::Effect *, Value)> use) {
  op->walk([&](Operation *each) {
    if (isMemoryEffectFree(each) || each->hasTrait<OpTrait::IsTerminator>())
      return;
    auto effects = dyn_cast<MemoryEffectOpInterface>(each);
    if (!effects) {
      if (!each->hasTrait<OpTrait::HasRecursiveMemoryEffects>())
        use(nullptr, {});
      return;
    }
    SmallVector<MemoryEffects::EffectInstance> all;
    effects.getEffects(all);
    for (const MemoryEffects::EffectInstance &effect : all)
      use(effect.getEffect(), effect.getValue());
    // What a kernel stores by a tensor map is a parameter, too.
    if (auto launch = dyn_cast<warpspec::LaunchOp>(each))
      for (Value parameter : launch.getParameters())
        if (auto map = parameter.getDefiningOp<warpspec::EncodeTensorMapOp>())
          use(MemoryEffects::Read::get(), map.getMemory());
  });
}

template <typename Effect> bool Memory::mayAffect(Operation *op, Value memref) {
  bool result = false;
  forEachEffect(op, [&](MemoryEffects::Effect *effect, Value value) {
    if (!effect)
      result |= !isLocal(getRoot(memref)) ||
                llvm::is_contained(op->getOperands(), memref);
    else if (isa<Effect>(effect))
      result |= value ? mayAlias(value, memref) : !isLocal(getRoot(memref));
  });
  return result;
}

/// The copies that memrefs hold, while a block is walked.
class Copies {
public:
  explicit Copies(Memory &memory) : memory(memory) {}

  void run(Block &block) {
    for (Operation &op : block) {
      if (Copy copy = getCopy(&op)) {
        redirect(copy);
        forget(copy.target->get());
        if (!memory.mayAlias(copy.target->get(), copy.source->get()))
          sources[copy.target->get()].push_back(copy.source->get());
        continue;
      }
      if (auto branch = dyn_cast<scf::IfOp>(&op))
        for (Region &region : branch->getRegions())
          if (!region.empty())
            Copies(*this).run(region.front());
      forgetWritten(&op);
    }
  }

private:
  /// Reads from memory of the target's kind, if the same is there: what the
  /// source is a copy of, or another copy of the source.
  void redirect(Copy copy) {
    Value source = copy.source->get(), target = copy.target->get();
    Attribute space = getSpace(target);
    if (getSpace(source) == space)
      return;
    auto fits = [&](Value other) {
      return getSpace(other) == space && other != target &&
             cast<ShapedType>(other.getType()).getShape() ==
                 cast<ShapedType>(source.getType()).getShape();
    };
    for (Value other : sources.lookup(source))
      if (fits(other))
        return copy.source->set(other);
    for (const auto &[other, from] : sources)
      if (fits(other) && llvm::is_contained(from, source))
        return copy.source->set(other);
  }

  void forget(Value written) {
    llvm::SmallVector<Value> gone;
    for (auto &[target, from] : sources) {
      if (memory.mayAlias(target, written))
        gone.push_back(target);
      llvm::erase_if(
          from, [&](Value source) { return memory.mayAlias(source, written); });
    }
    for (Value target : gone)
      sources.erase(target);
  }

  void forgetWritten(Operation *op) {
    SmallVector<Value> written;
    bool isKnown = true;
    forEachEffect(op, [&](MemoryEffects::Effect *effect, Value value) {
      bool changes =
          !effect || isa<MemoryEffects::Write, MemoryEffects::Free>(effect);
      if (!changes)
        return;
      if (value)
        written.push_back(value);
      else
        isKnown = false;
    });
    for (Value value : written)
      forget(value);
    if (isKnown)
      return;
    // Memory of the function's own is changed where it is named.
    SmallVector<Value> gone;
    for (auto &[target, from] : sources) {
      bool isNamed = !memory.isLocal(getRoot(target)) ||
                     llvm::is_contained(op->getOperands(), target);
      if (isNamed && !isa<gpu::AsyncOpInterface>(op))
        gone.push_back(target);
    }
    for (Value target : gone)
      forget(target);
  }

  Memory &memory;
  llvm::MapVector<Value, SmallVector<Value, 2>> sources;
};

/// The operation of `block` that holds `op`.
Operation *getAncestorIn(Block *block, Operation *op) {
  return block->findAncestorOpInBlock(*op);
}

/// `op`, a copy into a new memref that is only read, is done without: users
/// read the source.
bool replaceBySource(Operation *op, Copy copy, Memory &memory,
                     llvm::DenseSet<Operation *> &erased) {
  Value target = copy.target->get(), source = copy.source->get();
  Block *block = op->getBlock();
  Operation *allocation = target.getDefiningOp();
  if (!memory.isLocal(target) || target.getType() != source.getType() ||
      allocation->getBlock() != block)
    return false;
  SmallVector<Operation *> users = getUsers(target);
  Operation *last = op;
  Operation *deallocation = nullptr;
  for (Operation *user : users) {
    Operation *here = getAncestorIn(block, user);
    if (!here || (here->isBeforeInBlock(op) && !isName(user)))
      return false;
    if (user == op || isName(user))
      continue;
    if (isDeallocation(user)) {
      if (deallocation || here != user)
        return false;
      deallocation = user;
      continue;
    }
    if (user->hasTrait<OpTrait::IsTerminator>() ||
        memory.mayAffect<MemoryEffects::Write>(user, target))
      return false;
    if (last->isBeforeInBlock(here))
      last = here;
  }
  // Nobody changes or frees the source until then.
  for (Operation *here = op; here != last;) {
    here = here->getNextNode();
    if (isDeallocation(here)
            ? memory.mayAlias(here->getOperand(0), source)
            : memory.mayAffect<MemoryEffects::Write>(here, source))
      return false;
  }
  target.replaceAllUsesWith(source);
  for (Operation *gone : {op, deallocation, allocation})
    if (gone) {
      erased.insert(gone);
      gone->erase();
    }
  return true;
}

/// Nobody has written the source of a copy before it, or reads its target after
/// it.
bool isUseless(Operation *op, Copy copy, Memory &memory) {
  Value source = copy.source->get(), target = copy.target->get();
  Block *block = op->getBlock();
  auto isTouched = [&](Value memref, bool before) {
    if (!memory.isLocal(memref) || memref.getDefiningOp()->getBlock() != block)
      return true;
    SmallVector<Operation *> users = getUsers(memref);
    return llvm::any_of(users, [&](Operation *user) {
      Operation *here = getAncestorIn(block, user);
      if (!here)
        return true;
      if (here == op || isDeallocation(user) || isName(user))
        return false;
      // The function returns it.
      if (user->hasTrait<OpTrait::IsTerminator>())
        return !before;
      if (before)
        return here->isBeforeInBlock(op) &&
               memory.mayAffect<MemoryEffects::Write>(user, memref);
      return op->isBeforeInBlock(here) &&
             memory.mayAffect<MemoryEffects::Read>(user, memref);
    });
  };
  return !isTouched(source, /*before=*/true) ||
         !isTouched(target, /*before=*/false);
}

/// The deallocations of what the block allocates.
SmallVector<Operation *> getDeallocations(Block &block) {
  SmallVector<Operation *> result;
  for (Operation &op : block) {
    Operation *allocation =
        isDeallocation(&op) ? op.getOperand(0).getDefiningOp() : nullptr;
    if (isAllocation(allocation) && allocation->getBlock() == &block)
      result.push_back(&op);
  }
  return result;
}

/// Lets memory of the function's own live up to the end of its block, so that
/// it can take the place of its copies.
void sinkDeallocations(Block &block) {
  for (Operation *op : getDeallocations(block))
    op->moveBefore(block.getTerminator());
}

/// Frees it after its last use.
void raiseDeallocations(Block &block) {
  SmallVector<Operation *> deallocations = getDeallocations(block);
  for (Operation *op : llvm::reverse(deallocations)) {
    Value memref = op->getOperand(0);
    SmallVector<Operation *> users = getUsers(memref);
    Operation *last = memref.getDefiningOp();
    for (Operation *user : users)
      if (Operation *here = getAncestorIn(&block, user);
          here && here != op && last->isBeforeInBlock(here))
        last = here;
    if (last->isBeforeInBlock(op))
      op->moveAfter(last);
  }
}

/// Memory that is only freed.
bool isUnused(Operation *op) {
  return isAllocation(op) && llvm::all_of(op->getUsers(), isDeallocation);
}

struct CancelTransfers : nvfp4::impl::CancelTransfersPassBase<CancelTransfers> {
  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    getOperation().walk([](Block *block) {
      if (block->mightHaveTerminator())
        sinkDeallocations(*block);
    });
    for (Block &block : getOperation().getBody()) {
      Memory memory;
      Copies(memory).run(block);
    }
    while (removeSome())
      ;
    getOperation().walk([](Block *block) { raiseDeallocations(*block); });
  }

  /// Removes copies and memory that nobody needs. A removal may make others
  /// possible: false if there was none.
  bool removeSome() {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isAllocation(op) || getCopy(op))
        ops.push_back(op);
    });
    Memory memory;
    llvm::DenseSet<Operation *> erased;
    for (Operation *op : ops) {
      if (erased.contains(op))
        continue;
      if (isUnused(op)) {
        for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
          user->erase();
        erased.insert(op);
        op->erase();
      } else if (Copy copy = getCopy(op)) {
        if (isUseless(op, copy, memory)) {
          erased.insert(op);
          op->erase();
        } else {
          replaceBySource(op, copy, memory, erased);
        }
      }
    }
    return !erased.empty();
  }
};

} // namespace
