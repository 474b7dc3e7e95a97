//===- DecodeContext.cpp - what an instruction's decoder works with -------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Modifier and operand consumption with width checks.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Decode/DecodeContext.h"

#include <algorithm>
#include <bit>

namespace nvfp4::sim {
namespace {

constexpr std::pair<std::string_view, EnvironmentKind> specials[] = {
    {"%tid.x", EnvironmentKind::TidX},
    {"%tid.y", EnvironmentKind::TidY},
    {"%tid.z", EnvironmentKind::TidZ},
    {"%ntid.x", EnvironmentKind::NtidX},
    {"%ntid.y", EnvironmentKind::NtidY},
    {"%ntid.z", EnvironmentKind::NtidZ},
    {"%ctaid.x", EnvironmentKind::CtaidX},
    {"%ctaid.y", EnvironmentKind::CtaidY},
    {"%ctaid.z", EnvironmentKind::CtaidZ},
    {"%nctaid.x", EnvironmentKind::NctaidX},
    {"%nctaid.y", EnvironmentKind::NctaidY},
    {"%nctaid.z", EnvironmentKind::NctaidZ},
    {"%laneid", EnvironmentKind::LaneId},
    {"%warpid", EnvironmentKind::WarpId},
    {"%nwarpid", EnvironmentKind::NwarpId},
    {"%smid", EnvironmentKind::SmId},
    {"%nsmid", EnvironmentKind::NsmId},
    {"%gridid", EnvironmentKind::GridId},
    {"%cluster_ctarank", EnvironmentKind::ClusterCtaRank},
    {"%cluster_nctarank", EnvironmentKind::ClusterNctaRank},
    {"%cluster_ctaid.x", EnvironmentKind::ClusterCtaidX},
    {"%cluster_ctaid.y", EnvironmentKind::ClusterCtaidY},
    {"%cluster_ctaid.z", EnvironmentKind::ClusterCtaidZ},
    {"%cluster_nctaid.x", EnvironmentKind::ClusterNctaidX},
    {"%cluster_nctaid.y", EnvironmentKind::ClusterNctaidY},
    {"%cluster_nctaid.z", EnvironmentKind::ClusterNctaidZ},
    {"%clusterid.x", EnvironmentKind::ClusterIdX},
    {"%clusterid.y", EnvironmentKind::ClusterIdY},
    {"%clusterid.z", EnvironmentKind::ClusterIdZ},
    {"%nclusterid.x", EnvironmentKind::NclusterIdX},
    {"%nclusterid.y", EnvironmentKind::NclusterIdY},
    {"%nclusterid.z", EnvironmentKind::NclusterIdZ},
    {"%is_explicit_cluster", EnvironmentKind::IsExplicitCluster},
    {"%lanemask_eq", EnvironmentKind::LanemaskEq},
    {"%lanemask_le", EnvironmentKind::LanemaskLe},
    {"%lanemask_lt", EnvironmentKind::LanemaskLt},
    {"%lanemask_ge", EnvironmentKind::LanemaskGe},
    {"%lanemask_gt", EnvironmentKind::LanemaskGt},
    {"%dynamic_smem_size", EnvironmentKind::DynamicSmemSize},
    {"%total_smem_size", EnvironmentKind::TotalSmemSize},
};

/// Lanes of a value of `type` are 64 bits wide.
bool isWide(Type type) { return bitWidth(type) == 64; }

} // namespace

Ref DecodeTables::constant32(uint32_t value) {
  auto [entry, inserted] = constants.try_emplace({value, 32});
  if (inserted) {
    entry->second = Ref::symbolic(Ref::Kind::Constant, kernel.constants.size());
    uint64_t pair = static_cast<uint64_t>(value) << 32 | value;
    kernel.constants.insert(kernel.constants.end(), 16, pair);
  }
  return entry->second;
}

Ref DecodeTables::constant64(uint64_t value) {
  auto [entry, inserted] = constants.try_emplace({value, 64});
  if (inserted) {
    entry->second = Ref::symbolic(Ref::Kind::Constant, kernel.constants.size());
    kernel.constants.insert(kernel.constants.end(), 32, value);
  }
  return entry->second;
}

Ref DecodeTables::constantPredicate(bool value) {
  return constant32(value ? allLanes : 0);
}

Ref DecodeTables::environment(EnvironmentKind kind, bool wide, int32_t symbol,
                              int64_t addend) {
  for (size_t i = 0; i < kernel.environment.size(); ++i) {
    const EnvironmentValue &value = kernel.environment[i];
    if (value.kind == kind && value.wide == wide && value.symbol == symbol &&
        value.addend == addend)
      return Ref::symbolic(Ref::Kind::Environment, i);
  }
  kernel.environment.push_back({kind, symbol, addend, wide, Ref()});
  return Ref::symbolic(Ref::Kind::Environment, kernel.environment.size() - 1);
}

bool DecodeContext::take(std::string_view name) {
  auto found = std::find(modifiers.begin(), modifiers.end(), name);
  if (found == modifiers.end())
    return false;
  modifiers.erase(found);
  return true;
}

int DecodeContext::takeAny(std::initializer_list<std::string_view> names) {
  int index = 0;
  for (std::string_view name : names) {
    if (take(name))
      return index;
    ++index;
  }
  return -1;
}

int DecodeContext::expectAny(std::initializer_list<std::string_view> names) {
  int index = takeAny(names);
  if (index >= 0)
    return index;
  std::string message = parsed.fullName();
  message.append(" needs one of the modifiers");
  for (std::string_view name : names) {
    message.append(" .");
    message.append(name);
  }
  error(message);
  return 0;
}

Type DecodeContext::takeType() {
  for (auto it = modifiers.begin(); it != modifiers.end(); ++it) {
    if (std::optional<Type> type = parseType(*it)) {
      modifiers.erase(it);
      return *type;
    }
  }
  return Type::None;
}

Type DecodeContext::expectType(std::initializer_list<Type> legal) {
  Type type = takeType();
  if (std::find(legal.begin(), legal.end(), type) != legal.end())
    return type;
  if (type == Type::None)
    error(parsed.fullName() + " needs a type");
  else
    error("type ." + std::string(typeName(type)) + " of '" + parsed.fullName() +
          "' is not supported");
  return *legal.begin();
}

std::optional<unsigned> DecodeContext::takeNumber(std::string_view prefix) {
  for (auto it = modifiers.begin(); it != modifiers.end(); ++it) {
    if (it->size() <= prefix.size() || it->compare(0, prefix.size(), prefix))
      continue;
    std::string digits = it->substr(prefix.size());
    if (digits.size() > 6 ||
        digits.find_first_not_of("0123456789") != std::string::npos)
      continue;
    modifiers.erase(it);
    return static_cast<unsigned>(std::stoul(digits));
  }
  return std::nullopt;
}

bool DecodeContext::takeCacheHints() {
  static constexpr std::string_view plain[] = {"ca",
                                               "cg",
                                               "cs",
                                               "lu",
                                               "cv",
                                               "wb",
                                               "wt",
                                               "nc",
                                               "L1::evict_normal",
                                               "L1::evict_unchanged",
                                               "L1::evict_first",
                                               "L1::evict_last",
                                               "L1::no_allocate",
                                               "L2::evict_normal",
                                               "L2::evict_first",
                                               "L2::evict_last",
                                               "L2::64B",
                                               "L2::128B",
                                               "L2::256B"};
  for (std::string_view name : plain)
    take(name);
  return take("L2::cache_hint");
}

bool DecodeContext::expectOperands(size_t least, size_t most) {
  size_t count = operandCount();
  if (count >= least && count <= most)
    return true;
  std::string expected = std::to_string(least);
  if (most != least)
    expected += " to " + std::to_string(most);
  return error("expected " + expected + " operands for '" + parsed.fullName() +
               "', but got " + std::to_string(count));
}

Ref DecodeContext::registerRef(const Operand &operand, int32_t index, Type type,
                               bool anyWidth, bool &wide) {
  const VirtualRegister &reg = tables.function.registers[index];
  unsigned have = bitWidth(reg.type);
  unsigned want = bitWidth(type);
  bool predicate = type == Type::Pred;
  bool fits = predicate ? reg.type == Type::Pred
                        : reg.type != Type::Pred &&
                              (have == want || (anyWidth && have >= want));
  // 8-bit operands are commonly held in 16-bit registers and up.
  if (!predicate && want == 8 && reg.type != Type::Pred && have >= 8)
    fits = true;
  if (!fits)
    error(operand, "expected a " +
                       (predicate ? std::string("predicate")
                                  : std::to_string(want) + "-bit") +
                       " register, but got " + reg.name + " of type ." +
                       std::string(typeName(reg.type)));
  wide = have == 64;
  return Ref::symbolic(Ref::Kind::Register, index, operand.negated);
}

Ref DecodeContext::literalRef(const Operand &operand, Type type) {
  auto bits = static_cast<uint64_t>(operand.immediate);
  if (type == Type::Pred)
    return tables.constantPredicate(bits != 0);
  if (operand.kind == Operand::Kind::Float) {
    double value = operand.single
                       ? std::bit_cast<float>(static_cast<uint32_t>(bits))
                       : std::bit_cast<double>(bits);
    if (type == Type::F64)
      bits = std::bit_cast<uint64_t>(value);
    else if (!operand.single && bitWidth(type) == 32)
      bits = std::bit_cast<uint32_t>(static_cast<float>(value));
    else if (bitWidth(type) == 64 && operand.single)
      bits = std::bit_cast<uint64_t>(value);
  }
  if (isWide(type))
    return tables.constant64(bits);
  unsigned width = bitWidth(type);
  if (width < 32)
    bits &= (uint64_t{1} << width) - 1;
  return tables.constant32(static_cast<uint32_t>(bits));
}

Ref DecodeContext::special(const Operand &operand, bool wide) {
  for (const auto &[name, kind] : specials)
    if (name == operand.name)
      return tables.environment(kind, wide);
  error(operand, "unknown register or special register '" + operand.name + "'");
  return scratch();
}

Ref DecodeContext::source(const Operand &operand, Type type) {
  bool wide = false;
  switch (operand.kind) {
  case Operand::Kind::Register:
    effects.uses.push_back(operand.reg);
    return registerRef(operand, operand.reg, type, false, wide);
  case Operand::Kind::Integer:
  case Operand::Kind::Float:
    return literalRef(operand, type);
  case Operand::Kind::Special:
    return special(operand, isWide(type));
  case Operand::Kind::Symbol:
    return tables.environment(EnvironmentKind::SymbolAddress, isWide(type),
                              operand.symbol, operand.immediate);
  default:
    error(operand, "expected a register or a constant as operand of '" +
                       parsed.fullName() + "'");
    return scratch();
  }
}

Ref DecodeContext::source(size_t i, Type type) {
  if (i >= operandCount()) {
    error("too few operands for '" + parsed.fullName() + "'");
    return scratch();
  }
  return source(operand(i), type);
}

Ref DecodeContext::sourceAnyWidth(const Operand &operand, Type type,
                                  bool &wide) {
  wide = isWide(type);
  if (operand.kind != Operand::Kind::Register)
    return source(operand, type);
  effects.uses.push_back(operand.reg);
  return registerRef(operand, operand.reg, type, true, wide);
}

Ref DecodeContext::dest(const Operand &operand, Type type) {
  bool wide = false;
  if (operand.kind == Operand::Kind::Sink)
    return scratch();
  if (operand.kind != Operand::Kind::Register) {
    error(operand,
          "expected a register as destination of '" + parsed.fullName() + "'");
    return scratch();
  }
  effects.defs.push_back(operand.reg);
  return registerRef(operand, operand.reg, type, false, wide);
}

Ref DecodeContext::dest(size_t i, Type type) {
  if (i >= operandCount()) {
    error("too few operands for '" + parsed.fullName() + "'");
    return scratch();
  }
  return dest(operand(i), type);
}

Ref DecodeContext::destAnyWidth(const Operand &operand, Type type, bool &wide) {
  wide = isWide(type);
  if (operand.kind != Operand::Kind::Register)
    return dest(operand, type);
  effects.defs.push_back(operand.reg);
  return registerRef(operand, operand.reg, type, true, wide);
}

Ref DecodeContext::secondDest(size_t i, Type type) {
  if (i >= operandCount() || operand(i).second < 0)
    return scratch();
  bool wide = false;
  effects.defs.push_back(operand(i).second);
  return registerRef(operand(i), operand(i).second, type, false, wide);
}

AddressOperand DecodeContext::address(const Operand &memory) {
  AddressOperand result;
  result.base = scratch();
  if (memory.kind != Operand::Kind::Memory) {
    error(memory,
          "expected an address in brackets for '" + parsed.fullName() + "'");
    return result;
  }
  const Operand &base = memory.elements[0];
  result.offset = memory.immediate;
  switch (base.kind) {
  case Operand::Kind::Register: {
    unsigned width = bitWidth(tables.function.registers[base.reg].type);
    if (width != 32 && width != 64)
      error(base, "expected a 32-bit or 64-bit address register");
    effects.uses.push_back(base.reg);
    result.base =
        registerRef(base, base.reg, width == 64 ? Type::B64 : Type::B32, false,
                    result.wide);
    return result;
  }
  case Operand::Kind::Symbol:
    result.wide = true;
    result.base = tables.environment(EnvironmentKind::SymbolAddress, true,
                                     base.symbol, 0);
    return result;
  case Operand::Kind::Integer:
    result.wide = true;
    result.base = tables.constant64(base.immediate);
    return result;
  default:
    error(base, "expected a register, a variable or a number as address");
    return result;
  }
}

AddressOperand DecodeContext::address(size_t i) {
  if (i >= operandCount()) {
    error("too few operands for '" + parsed.fullName() + "'");
    return {scratch(), false, 0};
  }
  const Operand &memory = operand(i);
  if (memory.kind == Operand::Kind::Memory && memory.elements.size() > 1)
    error(memory, "expected a plain address for '" + parsed.fullName() + "'");
  return address(memory);
}

std::vector<const Operand *> DecodeContext::elements(size_t i) const {
  std::vector<const Operand *> list;
  if (i >= operandCount())
    return list;
  if (operand(i).kind != Operand::Kind::Vector)
    return {&operand(i)};
  for (const Operand &element : operand(i).elements)
    list.push_back(&element);
  return list;
}

uint32_t DecodeContext::addToPool(Ref ref) {
  tables.kernel.pool.push_back(ref);
  return static_cast<uint32_t>(tables.kernel.pool.size()) - 1;
}

uint32_t DecodeContext::poolSize() const {
  return static_cast<uint32_t>(tables.kernel.pool.size());
}

int64_t DecodeContext::literal(const Operand &operand) {
  if (operand.kind != Operand::Kind::Integer) {
    error(operand, "expected an integer constant as operand of '" +
                       parsed.fullName() + "'");
    return 0;
  }
  return operand.immediate;
}

int64_t DecodeContext::literal(size_t i) {
  if (i >= operandCount()) {
    error("too few operands for '" + parsed.fullName() + "'");
    return 0;
  }
  return literal(operand(i));
}

bool DecodeContext::unsupported() {
  std::string message("instruction '");
  message.append(parsed.fullName());
  message.append("' is not supported");
  return error(message);
}

void DecodeContext::finish() {
  if (failed)
    return;
  if (!modifiers.empty())
    error("modifier '." + modifiers.front() + "' of '" + parsed.fullName() +
          "' is not supported");
  if (!inst.handler)
    unsupported();
}

} // namespace nvfp4::sim
