# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code of others for the same grouped products: peers of benchmarks/h200/run.

A peer is a function of a case and the number of copies of the weights that keep L2
cold. It returns one launch for each copy, a function for the result (None if its
operands are other numbers than the case's), and what it is. A peer that
is not installed raises ImportError.

  bf16 loop        one cuBLAS product for each group that has rows
  bf16 grouped     torch._grouped_mm
  fp8 grouped      torch._scaled_grouped_mm, a scale for each row: other numerics
  triton_kernels   MXFP4 weights in its layout for Hopper (https://github.com/triton-lang/triton)
  marlin           NVFP4 weights, the kernel of vLLM's _moe_C library
  humming ...      NVFP4 and MXFP4 weights of humming-kernels (https://github.com/vllm-project/humming),
                   rows found by index or contiguous: the case's own weights, compared with its reference
"""

import copy
import functools
import os
import sys
import typing

import torch

DEVICE = "cuda"


def dense_weights(case):
    """[groups, N, K] in bf16, which holds every weight times its scale."""
    w = torch.empty(case.groups, case.n, case.k, device=DEVICE, dtype=torch.bfloat16)
    values = [case.dequantize(e) for e in range(len(case.drawn))]
    for g in range(case.groups):
        w[g] = values[case.expert[g]]
    return w


def copies_of(tensor, count):
    return [tensor] + [tensor.clone() for _ in range(count - 1)]


def list_blocks(case, block):
    """Rows in blocks of one group each, the rest of a block being the number of all rows; the
    group of each block; how many rows that makes."""
    order, experts = [], []
    for g, count in enumerate(case.counts):
        blocks = -(-count // block)
        order += range(case.starts[g], case.starts[g + 1])
        order += [case.rows] * (blocks * block - count)
        experts += [g] * blocks
    return order, experts, len(order)


def bf16_loop(case, copies):
    weights = copies_of(dense_weights(case), copies)
    x = case.sets[0][1]
    out = torch.empty(case.rows, case.n, device=DEVICE, dtype=torch.bfloat16)
    spans = [(g, case.starts[g], case.starts[g + 1]) for g in range(case.groups)
             if case.counts[g]]

    def launch(w):
        for g, start, end in spans:
            torch.mm(x[start:end], w[g].t(), out=out[start:end])

    return [functools.partial(launch, w) for w in weights], lambda: out, "cuBLAS"


def bf16_grouped(case, copies):
    weights = copies_of(dense_weights(case), copies)
    x, box = case.sets[0][1], {}

    def launch(w):
        box["out"] = torch._grouped_mm(x, w.transpose(-2, -1), offs=case.ends)

    return [functools.partial(launch, w) for w in weights], lambda: box["out"], "torch._grouped_mm"


def fp8_grouped(case, copies):
    x, box = case.sets[0][1], {}
    w8 = torch.empty(case.groups, case.n, case.k, device=DEVICE, dtype=torch.float8_e4m3fn)
    scales = torch.empty(case.groups, case.n, device=DEVICE)
    for g in range(case.groups):
        w = case.dequantize(case.expert[g]).float()
        scales[g] = w.abs().amax(1).clamp_min(1e-12) / 448
        w8[g] = (w / scales[g][:, None]).to(torch.float8_e4m3fn)
    x_scales = x.float().abs().amax(1).clamp_min(1e-12) / 448
    x8 = (x.float() / x_scales[:, None]).to(torch.float8_e4m3fn)

    def launch(w):
        box["out"] = torch._scaled_grouped_mm(
            x8, w.transpose(-2, -1), x_scales, scales, offs=case.ends,
            out_dtype=torch.bfloat16, use_fast_accum=True)

    launches = [functools.partial(launch, w) for w in copies_of(w8, copies)]
    return launches, lambda: box["out"], "torch._scaled_grouped_mm, scales by row"


def triton_kernels(case, copies):
    from triton_kernels.matmul_ogs import PrecisionConfig, RoutingData, matmul_ogs
    from triton_kernels.matmul_ogs_details.opt_flags import update_opt_flags_constraints
    from triton_kernels.tensor import FP4, convert_layout, wrap_torch_tensor
    from triton_kernels.tensor_details import layout
    from triton_kernels.tensor_details.ragged_tensor import make_ragged_tensor_metadata
    update_opt_flags_constraints({"split_k": 1})
    values, value_options = layout.make_default_matmul_mxfp4_w_layout(mx_axis=1)
    exponents, scale_options = layout.make_default_matmul_mxfp4_w_scale_layout(
        mx_axis=1, num_warps=8)
    launches, box, x = [], {}, case.sets[0][1]
    histogram = torch.tensor(case.counts, device=DEVICE, dtype=torch.int32)
    for _ in range(copies):
        w = torch.randint(0, 256, (case.groups, case.n, case.k // 2), device=DEVICE,
                          dtype=torch.uint8)
        s = torch.randint(118, 126, (case.groups, case.n, case.k // 32), device=DEVICE,
                          dtype=torch.uint8)
        w = convert_layout(wrap_torch_tensor(w.transpose(-2, -1), dtype=FP4), values,
                           **value_options)
        s = convert_layout(wrap_torch_tensor(s.transpose(-2, -1)), exponents, **scale_options)
        precision = PrecisionConfig(weight_scale=s, out_dtype=torch.bfloat16)
        routing = RoutingData(None, histogram, case.groups, 1,
                              make_ragged_tensor_metadata(histogram, case.rows))

        def launch(w=w, precision=precision, routing=routing):
            box["out"] = matmul_ogs(x, w, None, routing, precision_config=precision)

        launches.append(launch)
    return launches, None, "MXFP4 weights, its own choice of tiles"


def marlin(case, copies):
    library = os.environ.get("VLLM_MOE_LIBRARY")
    if not library:
        import vllm
        library = os.path.join(os.path.dirname(vllm.__file__), "_moe_C.abi3.so")
    torch.ops.load_library(library)
    # vLLM's number of float4_e2m1f, and its choice of rows in a block.
    e2m1 = 2 | 1 << 8 | 1 << 16 | 1 << 49
    block = next((b for b in (8, 16, 32, 48) if case.rows / case.groups / b < 0.9), 64)
    i32 = functools.partial(torch.tensor, device=DEVICE, dtype=torch.int32)
    order, experts, padded = list_blocks(case, block)
    order, experts, padded = i32(order), i32(experts), i32([padded])
    x = case.sets[0][1]
    out = torch.empty(case.rows, case.n, device=DEVICE, dtype=torch.bfloat16)
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    workspace = torch.zeros(sms * 4, device=DEVICE, dtype=torch.int32)
    ones = torch.ones(case.rows, device=DEVICE)
    factor = torch.ones(case.groups, device=DEVICE)
    launches = []
    for _ in range(copies):
        w = torch.randint(-2**31, 2**31 - 1, (case.groups, case.k // 16, case.n * 2),
                          device=DEVICE, dtype=torch.int32)
        s = torch.randint(40, 72, (case.groups, case.k // 16, case.n), device=DEVICE,
                          dtype=torch.uint8).view(torch.float8_e4m3fn)
        launches.append(functools.partial(
            torch.ops._moe_C.moe_wna16_marlin_gemm, x, out, w, None, s, None, factor, None, None,
            None, workspace, order, experts, padded, ones, block, 1, False, e2m1, case.rows,
            case.n, case.k, True, False, True, False, -1, -1, -1))
    return launches, None, f"NVFP4 weights, blocks of {block} rows"


def humming(gemm_type, case, copies):
    from humming.layer import HummingLayer
    from humming.tune import get_heuristics_config
    config = ({"quant_method": "modelopt", "quant_algo": "nvfp4"} if case.format == "nvfp4"
              else {"quant_method": "mxfp4"})
    layer = HummingLayer(shape_n=case.n, shape_k=case.k, weight_config=config, num_experts=case.groups,
                         torch_dtype=torch.bfloat16).cuda()
    for g in range(case.groups):
        codes, scales = case.drawn[case.expert[g]]
        codes = codes[:, :case.k]
        layer.weight.data[g] = codes[:, ::2] | codes[:, 1::2] << 4
        layer.weight_scale.data[g] = scales[:, :layer.weight_scale.shape[-1]].view(layer.weight_scale.dtype)
    if case.format == "nvfp4":
        layer.weight_scale_2.data.fill_(1)
    layer.transform()
    # Its choice for this many rows, without compiling for all others.
    tuning = get_heuristics_config(layer_config=layer.humming_config, shape_m=case.rows, gemm_type=gemm_type)
    block, words = tuning["block_shape"][0], {}
    i32 = functools.partial(torch.tensor, device=DEVICE, dtype=torch.int32)
    if gemm_type == "indexed":
        order, experts, padded = list_blocks(case, block)
        words = {"sorted_ids": i32(order), "expert_ids": i32(experts), "num_tokens_padded": i32(padded)}
    else:
        words = {"expert_layout": torch.tensor(case.starts, device=DEVICE)}
    x = case.sets[0][1]
    out = torch.empty(case.rows, case.n, device=DEVICE, dtype=torch.bfloat16)
    launches = [functools.partial(each, x, outputs=out, top_k=1, compute_config={"gemm_type": gemm_type},
                                  tuning_config=tuning, **words)
                for each in [layer] + [copy.deepcopy(layer) for _ in range(copies - 1)]]
    shape = "x".join(map(str, tuning["block_shape"]))
    return launches, lambda: out, f"{case.format} weights, {gemm_type}, its own choice of tiles: {shape}"


class Peer(typing.NamedTuple):
    build: typing.Callable
    # Bytes of a weight, to know how many copies leave L2 cold.
    size: float
    # The largest relative error: rounding to bf16, or to fp8; 0 if weights are not the case's.
    most: float
    # The format of weights of the cases beside which it is timed.
    format: str = "nvfp4"


PEERS = {"bf16 loop": Peer(bf16_loop, 2, 4e-3), "bf16 grouped": Peer(bf16_grouped, 2, 4e-3),
         "fp8 grouped": Peer(fp8_grouped, 1, 6e-2), "triton_kernels": Peer(triton_kernels, 0.53125, 0),
         "marlin": Peer(marlin, 0.5625, 0)}
for kind in ("indexed", "grouped_contiguous"):
    PEERS[f"humming nvfp4 {kind}"] = Peer(functools.partial(humming, kind), 0.5625, 4e-3)
    PEERS[f"humming mxfp4 {kind}"] = Peer(functools.partial(humming, kind), 0.53125, 4e-3, "mxfp4")


def measure(case, name, time_launches):
    """(us, relative error or None, note) of a peer; ImportError if it is not there."""
    peer = PEERS[name]
    active = sum(count > 0 for count in case.counts)
    cold = -(-600_000_000 // int(active * case.n * case.k * peer.size))
    room = int(30e9 // (case.groups * case.n * case.k * max(peer.size, 1)))
    launches, result, note = peer.build(case, max(1, min(cold, room, 64)))
    launches[0]()
    torch.cuda.synchronize()
    error = None
    if result:
        error = case.compare(result(), bound=None)[1]
        if not error <= peer.most:
            raise RuntimeError(f"{name}: relative error {error:.2e}")
    return time_launches(launches), error, note


if __name__ == "__main__":
    sys.exit(__doc__)
