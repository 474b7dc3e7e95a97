//===- KernelTarget.h - GPUs that kernels are made for ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A target is an object: its names, what its kernels support, which tiles they
// have and what those cost. This library knows none of them: those of
// lib/Strategy/KernelTargets.cpp are registered with dialects and passes.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_KERNELTARGET_KERNELTARGET_H
#define NVFP4_KERNELTARGET_KERNELTARGET_H

#include "nvfp4/KernelTarget/Candidate.h"
#include "nvfp4/KernelTarget/Problem.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nvfp4::strategy {

/// The instructions that multiply. Targets of one family run the same kernels,
/// assembled for each.
enum class KernelFamily { Wgmma, Tcgen05 };

/// What the kernels of a family can do and expect, whatever the tile.
struct KernelFeatures {
  /// Scales are read in the linear layout, and the launch packs weights; else
  /// scales are in tiles of 128 x 4 (blocked).
  bool linearScales;
  /// Weights may be packed by relayout_weights.
  bool packedWeights;
  /// The longest run of gate or up columns whose pairs meet in one thread.
  int64_t longestGateRun;
  /// Addend and pre-activation may have another gate layout than the weights.
  bool outerGate;
  /// Weights are decoded, and each element's product is rounded; else the sum
  /// of a block is exact before it is scaled. Decides the error bound.
  bool roundsElements;
};

/// A GPU for which there are kernels. Objects live as long as the process.
class KernelTarget {
public:
  /// What the registry says of a GPU itself.
  struct Gpu {
    /// LLVM's and ptxas' name: `sm_103a`.
    std::string_view name;
    /// Ten times the compute capability of devices that run code for it, 0 if
    /// another target is the better choice for each of them.
    int computeCapability;
    /// The device `sim` can be one.
    bool isSimulated;
  };

  virtual ~KernelTarget() = default;
  KernelTarget(const KernelTarget &) = delete;
  KernelTarget &operator=(const KernelTarget &) = delete;

  const Gpu &getGpu() const { return gpu; }
  std::string_view getName() const { return gpu.name; }
  KernelFamily getFamily() const { return family; }
  /// The GPU that stands for the family in messages about its kernels.
  virtual std::string_view getFamilyName() const = 0;
  virtual const KernelFeatures &getFeatures() const = 0;

  /// The first rule that `tile` breaks; what it leaves open is chosen first.
  virtual std::optional<Violation>
  findViolation(const Tile &tile, const Problem &problem) const = 0;
  /// The legal tile that differs least from `tile`, if there is one.
  virtual std::optional<Tile>
  findNearestLegal(const Tile &tile, const Problem &problem) const = 0;
  /// A legal tile with what it leaves open chosen, unless its kernel chooses.
  virtual Tile complete(const Tile &tile, const Problem &problem) const = 0;

  /// Empty if the cost model covers `problem`; else what it is a model of.
  virtual std::string explainNoModel(const Problem &) const { return ""; }
  /// The tile with why it is not to be chosen, or its predicted times.
  virtual Candidate examine(const Tile &tile, const Problem &problem) const = 0;
  /// Every candidate: the chosen one first, then the legal ones by predicted
  /// time, then the illegal ones. The first is illegal only if all are.
  virtual std::vector<Candidate>
  rankTiles(const Problem &problem,
            const SearchOptions &options = {}) const = 0;
  /// What a kernel of a product without a strategy takes.
  virtual Tile getDefaultTile(const Problem &problem) const = 0;
  virtual Floor computeFloor(const Problem &problem) const = 0;

protected:
  KernelTarget(const Gpu &gpu, KernelFamily family)
      : gpu(gpu), family(family) {}

private:
  const Gpu gpu;
  const KernelFamily family;
};

/// Adds a target, whose name no other has. Not while others are looked up.
void registerKernelTarget(const KernelTarget &target);

/// The target called `name`, or null.
const KernelTarget *findKernelTarget(std::string_view name);

/// The target for a device of this compute capability (times ten), or null.
const KernelTarget *findKernelTargetOfDevice(int computeCapability);

using TargetFilter = std::function<bool(const KernelTarget &)>;

/// Names of the targets that `which` accepts, or of all, in the order in
/// which they were registered.
std::vector<std::string> getTargetNames(const TargetFilter &which = nullptr);

/// The same for a message, after `first` if it is not empty: `cpu, sm_90a,
/// sm_100a, sm_103a or sm_100f`.
std::string listGpus(std::string_view first = "",
                     const TargetFilter &which = nullptr);

} // namespace nvfp4::strategy

#endif // NVFP4_KERNELTARGET_KERNELTARGET_H
