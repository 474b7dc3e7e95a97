//===- WarpSpecEnums.td - Enumerations ---------------------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Closed sets of the dialect: agents, kinds of multiplication, orders of tiles,
// cache hints, fences. The keyword of a case is its spelling in IR.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_WARPSPEC_IR_ENUMS_TD
#define NVFP4_DIALECT_WARPSPEC_IR_ENUMS_TD

include "mlir/IR/EnumAttr.td"
include "nvfp4/Dialect/WarpSpec/IR/WarpSpecDialect.td"

class WarpSpec_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::nvfp4::warpspec";
  let genSpecializedAttr = 0;
}

def WarpSpec_Agent : WarpSpec_Enum<"Agent", "who fills or drains a buffer", [
  I32EnumAttrCase<"Threads", 0, "threads">,
  I32EnumAttrCase<"Tma", 1, "tma">,
  I32EnumAttrCase<"TensorCore", 2, "tensor_core">]>;

def WarpSpec_ScaledKind : WarpSpec_Enum<"ScaledKind",
    "kind of block-scaled multiplication", [
  I32EnumAttrCase<"MXF4NVF4", 0, "mxf4nvf4">,
  I32EnumAttrCase<"MXF4", 1, "mxf4">,
  I32EnumAttrCase<"MXF8F6F4", 2, "mxf8f6f4">]>;

def WarpSpec_WeightCode : WarpSpec_Enum<"WeightCode",
    "elements and scales of coded weights", [
  I32EnumAttrCase<"E2M1_UE4M3", 0, "e2m1_ue4m3">,
  I32EnumAttrCase<"E2M1_UE8M0", 1, "e2m1_ue8m0">,
  I32EnumAttrCase<"E4M3_UE8M0", 2, "e4m3_ue8m0">,
  I32EnumAttrCase<"E5M2_UE8M0", 3, "e5m2_ue8m0">]>;

def WarpSpec_TileOrder : WarpSpec_Enum<"TileOrder",
    "which tile index of a group runs fastest", [
  I32EnumAttrCase<"MFastest", 0, "m_fastest">,
  I32EnumAttrCase<"NFastest", 1, "n_fastest">]>;

def WarpSpec_CacheHint : WarpSpec_Enum<"CacheHint", "L2 policy of a copy", [
  I32EnumAttrCase<"EvictNormal", 0, "evict_normal">,
  I32EnumAttrCase<"EvictFirst", 1, "evict_first">,
  I32EnumAttrCase<"EvictLast", 2, "evict_last">]>;

def WarpSpec_FenceKind : WarpSpec_Enum<"FenceKind", "what a fence orders", [
  I32EnumAttrCase<"ProxyAsync", 0, "proxy_async">,
  I32EnumAttrCase<"Tcgen05Before", 1, "tcgen05_before">,
  I32EnumAttrCase<"Tcgen05After", 2, "tcgen05_after">,
  I32EnumAttrCase<"TmemStores", 3, "tmem_stores">,
  I32EnumAttrCase<"ProxyAsyncGlobal", 4, "proxy_async_global">]>;

def WarpSpec_GroupForm : WarpSpec_Enum<"GroupForm",
    "what the offsets of groups say", [
  I32EnumAttrCase<"Counts", 1, "counts">,
  I32EnumAttrCase<"RowEnds", 2, "row_ends">,
  I32EnumAttrCase<"RowStarts", 3, "row_starts">,
  I32EnumAttrCase<"KEnds", 4, "k_ends">,
  I32EnumAttrCase<"KStarts", 5, "k_starts">]>;

/// The numbers are those of nvfp4_data_kind (nvfp4_kernels.h).
def WarpSpec_DataKind : WarpSpec_Enum<"DataKind",
    "what a kernel checks of its data", [
  I32EnumAttrCase<"Groups", 0, "groups">,
  I32EnumAttrCase<"Index", 1, "index">,
  I32EnumAttrCase<"Positive", 2, "positive">,
  I32EnumAttrCase<"Factor", 3, "factor">,
  I32EnumAttrCase<"Room", 4, "room">,
  I32EnumAttrCase<"Weights", 5, "weights">]>;

class WarpSpec_EnumAttr<EnumAttrInfo info, string mnemonic>
    : EnumAttr<WarpSpec_Dialect, info, mnemonic> {
  let assemblyFormat = "`<` $value `>`";
}

def WarpSpec_AgentAttr : WarpSpec_EnumAttr<WarpSpec_Agent, "agent">;
def WarpSpec_ScaledKindAttr : WarpSpec_EnumAttr<WarpSpec_ScaledKind, "kind">;
/// The keyword stands alone in the operation's own syntax.
def WarpSpec_TileOrderAttr
    : EnumAttr<WarpSpec_Dialect, WarpSpec_TileOrder, "order">;
def WarpSpec_WeightCodeAttr
    : EnumAttr<WarpSpec_Dialect, WarpSpec_WeightCode, "code">;
def WarpSpec_CacheHintAttr
    : EnumAttr<WarpSpec_Dialect, WarpSpec_CacheHint, "cache">;
def WarpSpec_GroupFormAttr
    : EnumAttr<WarpSpec_Dialect, WarpSpec_GroupForm, "form">;
def WarpSpec_FenceKindAttr : WarpSpec_EnumAttr<WarpSpec_FenceKind, "fence_kind">;

#endif // NVFP4_DIALECT_WARPSPEC_IR_ENUMS_TD
