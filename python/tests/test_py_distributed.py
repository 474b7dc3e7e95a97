# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""nvfp4.distributed by processes with gloo: the bits of one rank, for every number of ranks and grouping of tokens."""

import numpy as np
import pytest

import nvfp4
from nvfp4 import MoEWeights

torch = pytest.importorskip("torch")
if not torch.distributed.is_available():
    pytest.skip("torch has no process groups", allow_module_level=True)

from nvfp4.distributed import MoE, experts_of  # noqa: E402

HIDDEN, WIDTH, EXPERTS, TOP_K = 64, 32, 5, 3
#: The tokens of each rank: uneven, none, and all on one.
TOKENS = {1: [(23,)], 2: [(11, 12), (0, 23), (23, 0)], 3: [(1, 0, 22), (7, 9, 7)], 5: [(3, 0, 11, 1, 8)]}
FORMS = {"w4a16": ("nvfp4", "bf16"), "w4a4": ("nvfp4", None), "mxfp4": ("mxfp4", None), "mxfp8": ("mxfp8_e4m3", None)}


def make_weights(form):
    rng = np.random.default_rng(4)
    w13, w2 = (rng.standard_normal(shape).astype(np.float32) / 8 for shape in ((EXPERTS, 2 * WIDTH, HIDDEN), (EXPERTS, HIDDEN, WIDTH)))
    bias = rng.standard_normal((EXPERTS, HIDDEN)).astype(np.float32)
    if form != "nvfp4":
        return MoEWeights(nvfp4.quantize(w13, form), nvfp4.quantize(w2, form), bias2=bias)
    scales = [nvfp4.encode_scale(each, by_expert=True) for each in (w13, w2)]
    return MoEWeights(nvfp4.quantize(w13, global_scale=scales[0]), nvfp4.quantize(w2, global_scale=scales[1]),
                      np.stack([1 / scales[0]] * 2, 1), 1 / scales[1], bias2=bias)


def make_tokens(is_skewed):
    """x, ids and factors of all tokens; some slots have no expert, and all tokens may want one."""
    generator = torch.Generator().manual_seed(7)
    x = torch.randn(23, HIDDEN, generator=generator).to(torch.bfloat16)
    ids = torch.stack([torch.randperm(EXPERTS, generator=generator)[:TOP_K] for _ in range(23)])
    if is_skewed:
        ids[:] = torch.tensor([3, 3, 3])
    ids[2], ids[5, 1], ids[9, 0] = EXPERTS, -1, EXPERTS
    return x, ids, torch.rand(23, TOP_K, generator=generator)


def work(rank, ranks, folder, form, is_skewed):
    """One process of a group: its part of each distribution of the tokens."""
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/group", rank=rank, world_size=ranks)
    name, act = FORMS[form]
    module = MoE(make_weights(name), activation_format=act)
    x, ids, factors = make_tokens(is_skewed)
    for i, tokens in enumerate(TOKENS[ranks]):
        part = slice(sum(tokens[:rank]), sum(tokens[:rank + 1]))
        torch.save(module(x[part], ids[part].int() if i % 2 else ids[part], factors[part]), f"{folder}/{i}_{rank}")
    torch.distributed.destroy_process_group()


def run(ranks, folder, form, is_skewed=False):
    """The results of each distribution, of all ranks."""
    folder.mkdir()
    torch.multiprocessing.spawn(work, (ranks, str(folder), form, is_skewed), nprocs=ranks)
    return [torch.cat([torch.load(f"{folder}/{i}_{rank}") for rank in range(ranks)]) for i in range(len(TOKENS[ranks]))]


@pytest.mark.parametrize("form, is_skewed", [("w4a16", False), ("w4a4", True), ("mxfp4", False), ("mxfp8", True)])
def test_bits_of_one_rank(tmp_path, form, is_skewed):
    one, = run(1, tmp_path / "1", form, is_skewed)
    name, act = FORMS[form]
    x, ids, factors = make_tokens(is_skewed)
    wanted = nvfp4.moe_layer(x, make_weights(name), topk_ids=ids, topk_weights=factors, activation_format=act)
    assert torch.equal(one, wanted) and torch.any(one != 0) and not torch.any(one[2])
    for ranks in (2, 3, 5):
        for i, got in enumerate(run(ranks, tmp_path / str(ranks), form, is_skewed)):
            assert torch.equal(got, one), (ranks, TOKENS[ranks][i])


@pytest.mark.parametrize("experts, ranks, sizes", [(8, 2, [4, 4]), (5, 3, [2, 2, 1]), (3, 3, [1, 1, 1]), (7, 1, [7])])
def test_experts_of_ranks(experts, ranks, sizes):
    places = [experts_of(rank, ranks, experts) for rank in range(ranks)]
    assert [len(place) for place in places] == sizes and [e for place in places for e in place] == list(range(experts))


def test_wrong_calls(tmp_path):
    with pytest.raises(nvfp4.ArgumentError, match="expected a process group, which .* makes, but got none"):
        MoE(make_weights("nvfp4"))
    with pytest.raises(nvfp4.ArgumentError, match="expected from 1 to 3 ranks, the number of experts, but got 4"):
        experts_of(0, 4, 3)
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/group", rank=0, world_size=1)
    try:
        module = MoE(make_weights("nvfp4"), activation_format="bf16")
        x, ids, factors = make_tokens(False)
        for arguments, message in (((x[:, 1:], ids, factors), r"expected x of shape \[T, 64\], but got \(23, 63\)"),
                                   ((x, ids[1:], factors), r"expected topk_ids and topk_weights of shape \[23, top_k\]"),
                                   ((x, ids.float(), factors), "expected topk_ids of int32 or int64, but got torch.float32"),
                                   ((x, ids, factors.to("meta")), "expected topk_weights on cpu, where the weights are")):
            with pytest.raises(nvfp4.ArgumentError, match=message):
                module(*arguments)
    finally:
        torch.distributed.destroy_process_group()
