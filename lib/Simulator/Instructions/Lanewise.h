//===- Lanewise.h - scalar functions as 32-lane handlers --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `lanewise<f>` turns a scalar function into a handler: its parameter types say
// how the lanes of the operands are read, its result type how the destination
// is written. The loops have no branches, so compilers vectorise them; `f` must
// be defined for all inputs, because it also runs on inactive lanes.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_SIMULATOR_INSTRUCTIONS_LANEWISE_H
#define NVFP4_LIB_SIMULATOR_INSTRUCTIONS_LANEWISE_H

#include "../VectorTarget.h"

#include "nvfp4/Simulator/Decode/DecodeContext.h"
#include "nvfp4/Simulator/Machine/Warp.h"

#include <bit>
#include <cstdlib>
#include <cstring>
#include <tuple>
#include <utility>

namespace nvfp4::sim {

/// 16-bit floats are carried as their bits.
struct Half {
  uint16_t bits;
};
struct BFloat {
  uint16_t bits;
};
/// A sink for unused results.
struct NoResult {};

namespace detail {

template <typename T> struct LaneTraits {
  using Plane = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  static T load(Plane bits) {
    if constexpr (sizeof(T) == 8 || sizeof(T) == 4)
      return std::bit_cast<T>(bits);
    else if constexpr (sizeof(T) == 2)
      return std::bit_cast<T>(static_cast<uint16_t>(bits));
    else
      return std::bit_cast<T>(static_cast<uint8_t>(bits));
  }
  static Plane store(T value) {
    if constexpr (sizeof(T) == 8)
      return std::bit_cast<uint64_t>(value);
    else if constexpr (sizeof(T) == 4)
      return std::bit_cast<uint32_t>(value);
    else if constexpr (sizeof(T) == 2)
      return std::bit_cast<uint16_t>(value);
    else
      return std::bit_cast<uint8_t>(value);
  }
};

/// How an operand of type T is read in the lane loop.
template <typename T> struct LaneSource {
  const typename LaneTraits<T>::Plane *plane;
  LaneSource(Warp &warp, Ref ref)
      : plane(reinterpret_cast<const typename LaneTraits<T>::Plane *>(
            warp.plane(ref))) {}
  T operator[](unsigned lane) const { return LaneTraits<T>::load(plane[lane]); }
};
template <> struct LaneSource<bool> {
  LaneMask mask;
  LaneSource(Warp &warp, Ref ref) : mask(warp.predicate(ref)) {}
  bool operator[](unsigned lane) const { return mask >> lane & 1; }
};

/// Writes what active lanes have got into a plane.
template <typename Plane>
void writeLanes(Plane *out, const Plane (&results)[32], LaneMask mask) {
  if (mask == allLanes)
    std::memcpy(out, results, sizeof results);
  else
    for (unsigned lane = 0; lane < 32; ++lane)
      out[lane] = mask >> lane & 1 ? results[lane] : out[lane];
}

template <auto F, typename Signature> struct Lanewise;

template <auto F, typename R, typename... A> struct Lanewise<F, R (*)(A...)> {
  static Step run(Warp &warp, const Inst &inst, LaneMask mask) {
    return runLanes(warp, inst, mask, std::index_sequence_for<A...>());
  }
  /// The same on hosts with fused multiplication and addition.
  NVFP4_SIM_TARGET("avx2,fma")
  static Step runFused(Warp &warp, const Inst &inst, LaneMask mask) {
    return runLanes(warp, inst, mask, std::index_sequence_for<A...>());
  }

private:
  template <size_t... I>
  NVFP4_SIM_INLINE static Step runLanes(Warp &warp, const Inst &inst,
                                        LaneMask mask,
                                        std::index_sequence<I...>) {
    std::tuple<LaneSource<A>...> sources{
        LaneSource<A>(warp, inst.op[I + 1])...};
    if constexpr (std::is_same_v<R, bool>) {
      LaneMask result = 0;
      for (unsigned lane = 0; lane < 32; ++lane)
        result |= static_cast<LaneMask>(F(std::get<I>(sources)[lane]...))
                  << lane;
      warp.setPredicate(inst.op[0], mask, result);
    } else {
      using Plane = typename LaneTraits<R>::Plane;
      auto *out = reinterpret_cast<Plane *>(warp.plane(inst.op[0]));
      // Into a local array first: no aliasing, so the loop vectorises.
      Plane results[32];
      for (unsigned lane = 0; lane < 32; ++lane)
        results[lane] = LaneTraits<R>::store(F(std::get<I>(sources)[lane]...));
      writeLanes(out, results, mask);
    }
    return Step::Next;
  }
};

} // namespace detail

/// The handler that applies F to every lane: op[0] = F(op[1], op[2], …).
template <auto F>
constexpr Handler lanewise = &detail::Lanewise<F, decltype(F)>::run;

/// The same for an F that calls std::fma, which one instruction computes on
/// most hosts, and a function of the library on others.
template <auto F> Handler lanewiseFused() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return &detail::Lanewise<F, decltype(F)>::runFused;
#endif
  return lanewise<F>;
}

/// Calls `make.template operator()<T>()` with the C++ type of an integer type.
template <typename Make> Handler forInteger(Type type, Make make) {
  switch (type) {
  case Type::U16:
  case Type::B16:
    return make.template operator()<uint16_t>();
  case Type::S16:
    return make.template operator()<int16_t>();
  case Type::U32:
  case Type::B32:
    return make.template operator()<uint32_t>();
  case Type::S32:
    return make.template operator()<int32_t>();
  case Type::U64:
  case Type::B64:
    return make.template operator()<uint64_t>();
  case Type::S64:
    return make.template operator()<int64_t>();
  default:
    return nullptr;
  }
}

/// An error for targets older than sm_100.
inline void requireBlackwell(DecodeContext &context) {
  const std::string &target = context.tables.module.target;
  if (std::atoi(target.c_str() + 3) < 100)
    context.error("expected target sm_100 or a later one for '" +
                  context.parsed.fullName() + "', but got " + target);
}

/// op[0] = destination, op[1..n] = sources, all of `type`.
inline void decodeOperands(DecodeContext &context, Type type,
                           unsigned sources) {
  if (!context.expectOperands(sources + 1))
    return;
  context.inst.op[0] = context.dest(0, type);
  for (unsigned i = 1; i <= sources; ++i)
    context.inst.op[i] = context.source(i, type);
}

} // namespace nvfp4::sim

#endif // NVFP4_LIB_SIMULATOR_INSTRUCTIONS_LANEWISE_H
