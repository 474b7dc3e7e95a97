# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Experts of Transformers in small random models, against their own code in float64 with the weights decoded by the
tables of test/python. Skipped where torch or transformers is missing."""

import copy

import numpy as np
import pytest

import nvfp4
from layer_oracle import values_of

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers", minversion="5")

import nvfp4.transformers as backend  # noqa: E402

SIZES = dict(vocab_size=64, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             intermediate_size=48, moe_intermediate_size=48, num_experts_per_tok=2, max_position_embeddings=64)
MODELS = {"mixtral": dict(num_local_experts=4), "qwen3_moe": dict(num_experts=4, head_dim=16),
          "gpt_oss": dict(num_local_experts=4, head_dim=16),
          "deepseek_v3": dict(n_routed_experts=4, n_group=1, topk_group=1, first_k_dense_replace=1, q_lora_rank=16,
                              num_key_value_heads=4, kv_lora_rank=16, qk_rope_head_dim=16, qk_nope_head_dim=16,
                              v_head_dim=16)}


def make_model(name, dtype=torch.bfloat16):
    torch.manual_seed(3)
    config = transformers.AutoConfig.for_model(name, **(SIZES | MODELS[name]))
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=dtype).eval()
    with torch.no_grad():
        for module in experts_of(model):
            # Numbers for which activations matter.
            for parameter in module.parameters():
                parameter.normal_(0, 0.3)
    return model


def experts_of(model):
    return [each for each in model.modules() if hasattr(each, "_apply_gate")]


def correlation(a, b):
    return torch.corrcoef(torch.stack([a.flatten(), b.flatten()]).float())[0, 1]


def decoded(experts, name, layer, transposed):
    """A parameter as the layer has it, in float64."""
    matrix = layer._matrix(name)
    multiplier = getattr(layer, "alpha" + name[1:])
    values = torch.from_numpy(values_of(matrix)) * multiplier.double().reshape(4, -1)[:, :1, None]
    return values.transpose(1, 2).contiguous() if transposed else values


def exact(experts, layer):
    """The same experts in float64, with the weights of the layer."""
    other = copy.deepcopy(experts).double()
    other.config = copy.deepcopy(experts.config)
    other.config._experts_implementation_internal = "eager"
    for parameter, name in (("gate_up_proj", "w13"), ("down_proj", "w2")):
        setattr(other, parameter, torch.nn.Parameter(decoded(experts, name, layer, experts.is_transposed)))
    return other


@pytest.mark.parametrize("name", MODELS)
@torch.no_grad()
def test_experts(name):
    experts = experts_of(make_model(name))[0]
    layer = backend.pack_experts(experts)
    x = torch.randn(9, 64).bfloat16()
    ids = torch.randint(0, 4, (9, 2))
    weights = torch.rand(9, 2).bfloat16()
    wanted = exact(experts, layer)(x.double(), ids, weights.double())
    got = backend.experts_forward(experts, x, ids, weights)
    assert got.dtype == torch.bfloat16 and wanted.abs().max() > 0.1
    # Rows between the products and results are rounded to bfloat16.
    assert (got.double() - wanted).abs().max() < 2**-7 * wanted.abs().max()
    # The weights are 4-bit approximations of the float parameters.
    plain = exact(experts, layer)
    for parameter in ("gate_up_proj", "down_proj"):
        setattr(plain, parameter, torch.nn.Parameter(getattr(experts, parameter).double()))
    assert np.corrcoef(plain(x.double(), ids, weights.double()).flatten(), got.double().flatten())[0, 1] > 0.97
    ids[:, 1] = 4  # of another rank
    alone = backend.experts_forward(experts, x, ids[:, :1], weights[:, :1])
    assert torch.equal(backend.experts_forward(experts, x, ids, weights), alone)


@pytest.mark.parametrize("name", MODELS)
@torch.no_grad()
def test_models_generate(name):
    """By the registered name, and with parameters dropped; compiled in one graph."""
    model = make_model(name)
    tokens = torch.randint(0, 64, (2, 7))
    eager = model(tokens).logits
    model.set_experts_implementation("nvfp4")
    wanted = model(tokens).logits
    assert not torch.equal(wanted, eager) and correlation(wanted, eager) > 0.9
    before = sum(each.nbytes for experts in experts_of(model) for each in experts.parameters())
    assert backend.quantize_experts(model) is model
    after = sum(each.nbytes for experts in experts_of(model) for each in experts.buffers())
    assert after < 0.35 * before and not any(list(experts.parameters()) for experts in experts_of(model))
    assert torch.equal(model(tokens).logits, wanted)
    written = model.generate(tokens, max_new_tokens=4, do_sample=False, pad_token_id=0)
    assert written.shape == (2, 11)
    again = copy.deepcopy(model)
    assert torch.equal(again(tokens).logits, wanted)
    experts = experts_of(model)[0]
    x, ids, weights = torch.randn(9, 64).bfloat16(), torch.randint(0, 4, (9, 2)), torch.rand(9, 2)
    compiled = torch.compile(experts, backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(x, ids, weights), experts(x, ids, weights))


@torch.no_grad()
def test_other_formats():
    experts = experts_of(make_model("qwen3_moe", torch.float16))[0]
    x, ids, weights = torch.randn(9, 64).half(), torch.randint(0, 4, (9, 2)), torch.rand(9, 2)
    results = [backend.pack_experts(experts, format=fmt, activation_format=act)(x, topk_ids=ids, topk_weights=weights)
               for fmt, act in (("nvfp4", None), ("nvfp4", "nvfp4"), ("mxfp4", "f16"))]
    for got in results[1:]:
        assert got.dtype == torch.float16 and not torch.equal(got, results[0])
        assert correlation(got, results[0]) > 0.95


class Rank:
    """A mesh of one dimension, as a router of Transformers asks for it."""

    ndim = 1

    def __init__(self, rank, ranks):
        self._rank, self._ranks = rank, ranks

    def get_local_rank(self):
        return self._rank

    def size(self):
        return self._ranks


@pytest.mark.parametrize("ranks", [2, 4])
@torch.no_grad()
def test_experts_of_other_ranks_are_computed_by_none(ranks):
    """Local experts of each rank, with what Transformers makes of its router's choice there: their sums are those of all."""
    parallel = pytest.importorskip("transformers.distributed.tensor_parallel")
    model = make_model("qwen3_moe")
    experts, router = experts_of(model)[0], model.model.layers[0].mlp.gate
    x = torch.randn(9, 64).bfloat16()
    choice = router(x)
    wanted = backend.experts_forward(experts, x, choice[2], choice[1]).double()
    total, none = torch.zeros(9, 64, dtype=torch.float64), 0
    for rank in range(ranks):
        _, weights, ids = parallel.EpRouterParallel().transform_output_post_forward(router, choice, Rank(rank, ranks))[:3]
        none += (ids == 4 // ranks).sum()
        local = copy.copy(experts)
        local.__dict__["_parameters"] = {name: torch.nn.Parameter(each.chunk(ranks)[rank])
                                         for name, each in experts._parameters.items()}
        local.__dict__.pop(backend._LAYER, None)
        total += backend.experts_forward(local, x, ids, weights).double()
    assert none == (ranks - 1) * 9 * 2
    # Each rank rounds its sum to bfloat16.
    assert (total - wanted).abs().max() <= (ranks + 1) * 2**-8 * wanted.abs().max()


def test_experts_that_are_split_are_not_quantised_in_place():
    fake = pytest.importorskip("torch.testing._internal.distributed.fake_pg")
    torch.distributed.init_process_group("fake", rank=0, world_size=2, store=fake.FakeStore())
    try:
        mesh = torch.distributed.init_device_mesh("cpu", (2,))
        model = make_model("qwen3_moe")
        for experts in experts_of(model):
            split = torch.distributed.tensor.distribute_tensor(experts.down_proj.data, mesh,
                                                               [torch.distributed.tensor.Shard(0)])
            experts.down_proj = torch.nn.Parameter(split)
        with pytest.raises(nvfp4.ArgumentError, match="model on one rank, but its experts are split"):
            backend.quantize_experts(model)
    finally:
        torch.distributed.destroy_process_group()


def test_what_is_no_such_layer_is_refused():
    model = make_model("qwen3_moe", torch.float32)
    experts = experts_of(model)[0]
    with pytest.raises(nvfp4.ArgumentError, match="bfloat16 or float16, or activation_format=.* but got torch.float32"):
        backend.pack_experts(experts)
    model = model.bfloat16()
    for change, message in ((dict(act_fn=torch.nn.ReLU()), "with another activation"),
                            (dict(has_gate=False), "has_gate False"),
                            (dict(down_proj=None), "down_proj of three dimensions"),
                            (dict(has_post_expert_norm=True), "has_post_expert_norm")):
        other = copy.deepcopy(experts)
        for name, value in change.items():
            setattr(other, name, value)
        with pytest.raises(nvfp4.ArgumentError, match=message):
            backend.pack_experts(other)
    with pytest.raises(nvfp4.ArgumentError, match="model with experts .*, but got Linear without"):
        backend.quantize_experts(torch.nn.Linear(2, 2))
    x = torch.randn(3, 64, dtype=torch.bfloat16, requires_grad=True)
    with pytest.raises(nvfp4.ArgumentError, match="without requires_grad"):
        backend.experts_forward(experts, x, torch.zeros(3, 1, dtype=torch.int64), torch.ones(3, 1))
