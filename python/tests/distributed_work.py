# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The processes of test_py_distributed: each computes its part of every case, and writes it down."""

import datetime
import os

import numpy as np
import torch

import nvfp4
from nvfp4 import MoEWeights
from nvfp4._torch_layer import MoELayer
from nvfp4.distributed import MoE, _slice, experts_of, replicated_experts

HIDDEN, WIDTH, EXPERTS, TOP_K, ALL = 64, 32, 5, 3, 23
#: Formats of weights and of activations.
FORMS = {"w4a16": ("nvfp4", "bf16"), "w4a4": ("nvfp4", None), "mxfp4": ("mxfp4", "mxfp4"), "w4a8": ("mxfp4", None),
         "mxfp8": ("mxfp8_e4m3", None)}
#: The tokens of each rank: uneven, none, and all on one.
TOKENS = {1: [(23,)], 2: [(11, 12), (0, 23), (23, 0)], 3: [(1, 0, 22), (7, 9, 7)], 4: [(0, 22, 0, 1), (6, 6, 6, 5)]}
ROUTINGS = ("uniform", "skewed", "empty")
#: A copy of expert 3 on every rank, experts in no order, for two and more ranks.
TABLES = {1: None, 2: [1, 0, 1, [0, 1], 0], 3: [2, 0, 1, [0, 1, 2], [2, 0]], 4: [3, 0, 1, [3, 0, 2, 1], [2, 0]]}


def make_weights(form, experts=EXPERTS, seed=4):
    rng = np.random.default_rng(seed)
    w13, w2 = (rng.standard_normal(shape).astype(np.float32) / 8 for shape in ((experts, 2 * WIDTH, HIDDEN), (experts, HIDDEN, WIDTH)))
    bias = rng.standard_normal((experts, HIDDEN)).astype(np.float32)
    if form != "nvfp4":
        return MoEWeights(nvfp4.quantize(w13, form), nvfp4.quantize(w2, form), bias2=bias)
    scales = [nvfp4.encode_scale(each, by_expert=True) for each in (w13, w2)]
    return MoEWeights(nvfp4.quantize(w13, global_scale=scales[0]), nvfp4.quantize(w2, global_scale=scales[1]),
                      np.stack([1 / scales[0]] * 2, 1), 1 / scales[1], input_multiplier=2.0**-7,
                      w2_input_multiplier=np.exp2(rng.integers(-7, -3, experts)).astype(np.float32), bias2=bias)


def make_tokens(routing):
    """x, ids and factors of all tokens; some slots have no expert, and all tokens may want one, or none."""
    generator = torch.Generator().manual_seed(7)
    x = torch.randn(ALL, HIDDEN, generator=generator).to(torch.bfloat16)
    ids = torch.stack([torch.randperm(EXPERTS, generator=generator)[:TOP_K] for _ in range(ALL)])
    if routing == "skewed":
        ids[:] = torch.tensor([3, 3, 3])
    ids[2], ids[5, 1], ids[9, 0] = EXPERTS, -1, EXPERTS
    if routing == "empty":
        ids[:] = -1
    return x, ids, torch.rand(ALL, TOP_K, generator=generator)


def make_exact():
    """Weights, and x in float32, of which every product is exact, so that only the sum over slots rounds."""
    rng = np.random.default_rng(8)

    def draw(n, k):
        codes = rng.integers(0, 256, (EXPERTS, n, k // 2)).astype(np.uint8)
        return nvfp4.ScaledTensor(codes, np.full((EXPERTS, n, k // 16), 0x38, np.uint8))
    x = torch.zeros(ALL, HIDDEN)
    x[torch.arange(ALL), torch.from_numpy(rng.integers(0, HIDDEN, ALL))] = 1
    return MoEWeights(draw(2 * WIDTH, HIDDEN), draw(HIDDEN, WIDTH), activation=nvfp4.Activation("reglu", nvfp4.Gate(0))), x


def options_of(case, ranks):
    """The options of a module from those of a case, in which words stand for what depends on the ranks."""
    form, given = case[0], dict(case[2])
    name, act = FORMS[form]
    options = dict(weights=make_weights(name), activation_format=act)
    if given.pop("table", False):
        options["placement"] = TABLES[ranks]
    given.pop("nan", None)
    if given.pop("exact", False):
        options.update(weights=make_exact()[0], activation_format=None)
    if given.pop("shared", False):
        options["shared"] = make_weights(name, 2, 11)
    return {**options, **given}


def compute(case, rank, ranks):
    """The results of a rank for each distribution of the tokens."""
    module, results = MoE(**options_of(case, ranks)), []
    x, ids, factors = make_tokens(case[1])
    if "exact" in dict(case[2]):
        x = make_exact()[1]
    if "nan" in dict(case[2]):
        x[7, 3], x[8, 0], x[10, 63], factors[11, 1] = torch.nan, torch.inf, -torch.inf, torch.nan
    more = [torch.linspace(-1, 1, 2 * ALL).reshape(ALL, 2)] if "shared" in dict(case[2]) else []
    for i, tokens in enumerate(TOKENS[ranks]):
        part = slice(sum(tokens[:rank]), sum(tokens[:rank + 1]))
        results.append(module(x[part], ids[part].int() if i % 2 else ids[part], factors[part], *(each[part] for each in more)))
    return results


def catch(call):
    """The message of an error, or what there is without one."""
    try:
        return call()
    except nvfp4.ArgumentError as error:
        return str(error)


def misuse(rank, ranks):
    """The errors of every rank, and a call after them, by the name of the mistake of the last rank."""
    last, (x, ids, factors) = rank == ranks - 1, make_tokens("uniform")
    weights, found = make_weights("nvfp4"), {}
    for static in (False, True):
        module = MoE(weights, activation_format="bf16", max_tokens=8, static=static, top_k=TOP_K)
        bad = {"many": (x[:9], ids[:9], factors[:9]), "shape": (x[:2, 1:], ids[:2], factors[:2]),
               "types": (x[:2].half(), ids[:2], factors[:2]), "none": (None, ids[:2], factors[:2])}
        right = x[:2], ids[:2], factors[:2]
        for name, wrong in bad.items():
            found[name, static] = catch(lambda: module(*(wrong if last else right)))
            found[name, static, "after"] = module(*right)
    found["options"] = catch(lambda: MoE(weights, activation_format="bf16", order="rank_grouped" if last else "slot"))
    found["wire"] = catch(lambda: MoE(weights, activation_format="bf16", return_format="bf16" if last else None))
    return found


def as_router_leaves(ids, factors, own):
    """Experts and weights of a rank with the experts ``own`` as the router of Transformers leaves them: numbers on the
    rank, and for a slot of another rank their count, with the weight zero."""
    is_here = (ids >= own.start) & (ids < own.stop)
    return torch.where(is_here, ids - own.start, len(own)), torch.where(is_here, factors, 0.0)


def replicate(rank, ranks):
    """Both results of experts whose tokens all ranks have, of which none is few and none at all."""
    own = experts_of(rank, ranks, EXPERTS)
    layer = MoELayer(_slice(make_weights("nvfp4"), own), determinism="batch_invariant")
    x, ids, factors = make_tokens("uniform")
    ids, factors = as_router_leaves(ids, factors, own)
    return [replicated_experts(layer, x[:count], ids[:count], factors[:count], all_reduced=each)
            for count in (ALL, 1, 0) for each in (False, True)]


def die(rank, ranks, folder):
    """A rank that ends between two calls; what the others say then."""
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/group", rank=rank, world_size=ranks,
                                         timeout=datetime.timedelta(seconds=30))
    module, (x, ids, factors) = MoE(make_weights("nvfp4")), make_tokens("uniform")
    module(x, ids, factors)
    if rank == ranks - 1:
        os._exit(0)
    try:
        module(x, ids, factors)
    except RuntimeError as error:
        torch.save(str(error), f"{folder}/{rank}")
    os._exit(0)


def work(rank, ranks, folder, cases):
    """One process of a group."""
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/group", rank=rank, world_size=ranks)
    special = {"misuse": misuse, "replicate": replicate}
    results = [special[case](rank, ranks) if isinstance(case, str) else compute(case, rank, ranks) for case in cases]
    torch.save(results, f"{folder}/{rank}")
    torch.distributed.destroy_process_group()


def run(ranks, folder, cases):
    """For each case what each rank found."""
    folder.mkdir()
    torch.multiprocessing.spawn(work, (ranks, str(folder), cases), nprocs=ranks)
    return list(zip(*(torch.load(f"{folder}/{rank}", weights_only=False) for rank in range(ranks))))
