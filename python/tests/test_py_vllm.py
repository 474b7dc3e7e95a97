# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The plugin for vLLM, with vLLM's own layers and loaders on the CPU: registration, claims, loading of experts of
ModelOpt and compressed-tensors, and their call, against float64. Skipped where vLLM is missing, or of another minor
version."""

import copy
import itertools
import pathlib
import tempfile
import types

import numpy as np
import pytest

import nvfp4

torch = pytest.importorskip("torch")
vllm = pytest.importorskip("vllm")
import nvfp4.vllm as plugin  # noqa: E402

if not vllm.__version__.startswith(plugin.VERSION + "."):
    pytest.skip(f"expected vLLM {plugin.VERSION}, but got {vllm.__version__}", allow_module_level=True)

from checkpoint_models import make_checkpoint, quantise  # noqa: E402
from vllm.config import (DeviceConfig, ModelConfig, VllmConfig, get_current_vllm_config,  # noqa: E402
                         set_current_vllm_config)
from vllm.distributed import init_distributed_environment, initialize_model_parallel  # noqa: E402
from vllm.forward_context import set_forward_context  # noqa: E402
from vllm.model_executor.layers.activation import SiluAndMulWithClamp  # noqa: E402
from vllm.model_executor.layers.fused_moe.layer import FusedMoEFactory  # noqa: E402
from vllm.model_executor.layers.quantization import get_quantization_config  # noqa: E402

E, H, I, K = 4, 64, 48, 2
COUNT = itertools.count()
QUANTISATION = dict(quant_method="modelopt", quant_algo="NVFP4", group_size=16, ignore=["lm_head"])
ARGUMENTS = dict(num_bits=4, type="float", strategy="tensor_group", group_size=16, symmetric=True)
COMPRESSED = dict(quant_method="compressed-tensors", format="nvfp4-pack-quantized", ignore=["lm_head"], config_groups=dict(
    group_0=dict(targets=["Linear"], weights=ARGUMENTS, input_activations=ARGUMENTS | dict(dynamic="local"))))
FIELDS = {"modelopt": ("weight", "weight_scale", "weight_scale_2", "input_scale"),
          "compressed-tensors": ("weight_packed", "weight_scale", "weight_global_scale", "input_global_scale")}


@pytest.fixture(scope="module", autouse=True)
def engine():
    """The surroundings that vLLM's layers ask for: a configuration, and groups of one rank."""
    with set_current_vllm_config(VllmConfig(device_config=DeviceConfig(device="cpu"))), \
            tempfile.NamedTemporaryFile() as store:
        init_distributed_environment(1, 0, f"file://{store.name}", 0, backend="gloo")
        initialize_model_parallel(1, 1)
        plugin.register()
        plugin.register()  # each process does, some of them twice
        yield


def make_layer(dtype=torch.bfloat16, quantisation=QUANTISATION, **options):
    config = get_quantization_config(plugin.METHOD).from_config(copy.deepcopy(quantisation))
    return FusedMoEFactory(num_experts=E, top_k=K, hidden_size=H, intermediate_size=I, params_dtype=dtype,
                           quant_config=config, prefix=f"model.layers.{next(COUNT)}.mlp.experts",
                           tp_size=1, dp_size=1, **options)


def make_weights(rng, convention="modelopt"):
    """Tensors of a checkpoint by the names below the layer, and values ``{(expert, side): [N, K]}`` in float64."""
    tensors, values = {}, {}
    for e in range(E):
        for side, shape in (("gate_proj", (I, H)), ("up_proj", (I, H)), ("down_proj", (H, I))):
            # Global scales of gate and up differ by more than a little.
            matrix = rng.normal(0, 0.3 if side == "up_proj" else 0.1, shape)
            multiplier = np.float32(np.abs(matrix).max() / 2688)
            codes, scales, values[e, side] = quantise(matrix, "nvfp4", multiplier)
            numbers = [np.array(multiplier), np.array(0.002, np.float32)]
            if convention == "compressed-tensors":
                numbers = [1 / number.reshape(1) for number in numbers]
            parts = codes, scales, *numbers
            tensors |= {f"{e}.{side}.{field}": torch.from_numpy(part) for field, part in zip(FIELDS[convention], parts)}
            tensors[f"{e}.{side}.weight_scale"] = tensors[f"{e}.{side}.weight_scale"].view(torch.float8_e4m3fn)
    return tensors, values


def load(runner, tensors, convention="modelopt"):
    experts = runner.routed_experts
    loaded = set(experts.load_weights(tensors.items()))
    assert loaded == {f"{side}_{part}" for side in ("w13", "w2") for part in FIELDS[convention]}
    experts.quant_method.process_weights_after_loading(experts)
    assert not list(experts.parameters())
    return experts


def silu(z):
    gate, up = z.chunk(2, -1)
    return torch.nn.functional.silu(gate) * up


def oracle(x, ids, weights, values, activation=silu):
    out = np.zeros((len(x), H))
    for t, row in enumerate(x.double().numpy()):
        for slot, e in enumerate(ids[t].tolist()):
            if e >= 0:
                z = np.concatenate([values[e, "gate_proj"], values[e, "up_proj"]]) @ row
                h = activation(torch.from_numpy(z)[None])[0].numpy()
                out[t] += weights[t, slot].item() * (values[e, "down_proj"] @ h)
    return out


def check(got, wanted, dtype):
    assert got.dtype == dtype
    # Rows between the products, and results, are rounded to the type; see test_py_transformers.py.
    bound = 2.0**-7 if dtype == torch.bfloat16 else 2.0**-10
    assert np.abs(got.double().numpy() - wanted).max() <= bound * np.abs(wanted).max()


def choice(rng, tokens, count=E):
    ids = np.argsort(rng.random((tokens, count)), 1)[:, :K].astype(np.int32)
    return torch.from_numpy(ids), torch.from_numpy(rng.random((tokens, K)).astype(np.float32))


@pytest.mark.parametrize("quantisation", [QUANTISATION, COMPRESSED])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@torch.no_grad()
def test_experts_are_loaded_by_vllm_and_called_as_by_it(dtype, quantisation, rng):
    torch.set_default_dtype(dtype)
    convention = quantisation["quant_method"]
    try:
        experts = load(make_layer(dtype, quantisation), (made := make_weights(rng, convention))[0], convention)
    finally:
        torch.set_default_dtype(torch.float32)
    for tokens in (1, 9, 64):
        x = torch.from_numpy(rng.normal(0, 1, (tokens, H))).to(dtype)
        ids, weights = choice(rng, tokens)
        got = experts.forward_modular(x, weights, ids)
        check(got, oracle(x, ids, weights, made[1]), dtype)
    assert len(experts.nvfp4_layer.w13) == E


@torch.no_grad()
def test_a_layer_runs_from_its_router_on(rng):
    """vLLM's whole layer; its own routers are CUDA kernels, so the choice is a function of the test."""
    def choose(hidden_states, gating_output, topk, renormalize):
        weights, ids = torch.softmax(gating_output.float(), -1).topk(topk)
        return weights, ids.int()

    runner = make_layer(custom_routing_function=choose)
    made = make_weights(rng)
    load(runner, made[0])
    x = torch.from_numpy(rng.normal(0, 1, (9, H))).bfloat16()
    logits = torch.from_numpy(rng.normal(0, 1, (9, E))).bfloat16()
    with set_forward_context(None, get_current_vllm_config(), num_tokens=9):
        got = runner(x, logits)
    weights, ids = choose(x, logits, K, True)
    check(got, oracle(x, ids, weights, made[1]), torch.bfloat16)


@pytest.mark.parametrize("convention, method", [("modelopt", "modelopt_fp4"), ("compressed-tensors", "compressed-tensors")])
def test_a_model_of_a_folder_is_claimed(convention, method, tmp_path, monkeypatch):
    made = make_checkpoint(tmp_path, "qwen3_moe", convention)

    def method_of(**options):
        return ModelConfig(model=str(made.folder), skip_tokenizer_init=True, **options).quantization

    assert method_of() == method
    monkeypatch.setattr("nvfp4._vllm_experts.current_platform", types.SimpleNamespace(
        is_cuda=lambda: True, is_device_capability=lambda capability: capability == 90))
    assert method_of() == plugin.METHOD
    assert method_of(quantization=method) == method


def test_the_package_names_the_plugin():
    text = (pathlib.Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert '[project.entry-points."vllm.general_plugins"]\nnvfp4 = "nvfp4.vllm:register"' in text


@torch.no_grad()
def test_experts_of_other_ranks_are_none(rng):
    runner = make_layer()
    experts = load(runner, (made := make_weights(rng))[0])
    # Ranks before and behind have experts 0, and 5 and 6.
    experts._expert_map = torch.tensor([-1, 0, 1, 2, 3, -1, -1], dtype=torch.int32)
    x = torch.from_numpy(rng.normal(0, 1, (12, H))).bfloat16()
    ids, weights = choice(rng, 12, 7)
    local = experts._expert_map[ids.long()]
    assert (local < 0).any() and (local >= 0).any()
    check(experts.forward_modular(x, weights, ids), oracle(x, local, weights, made[1]), torch.bfloat16)


@pytest.mark.parametrize("options, numbers", [
    (dict(swiglu_limit=0.5), (0.5,)),
    (dict(activation="swigluoai_uninterleave", swiglu_limit=0.7, swiglu_alpha=1.702, swiglu_beta=1.0), (0.7, 1.702, 1.0)),
    (dict(activation="gelu_tanh"), None)])
@torch.no_grad()
def test_activations_are_those_of_vllm(options, numbers, rng):
    experts = load(make_layer(**options), (made := make_weights(rng))[0])
    x = torch.from_numpy(rng.normal(0, 1, (9, H))).bfloat16()
    ids, weights = choice(rng, 9)

    def activation(z):
        if numbers is None:
            return torch.nn.functional.gelu(z.chunk(2, -1)[0], approximate="tanh") * z.chunk(2, -1)[1]
        return SiluAndMulWithClamp(*numbers, compile_native=False).forward_native(z)

    wanted = oracle(x, ids, weights, made[1], activation)
    if numbers is not None:  # the limit is reached
        assert np.abs(wanted - oracle(x, ids, weights, made[1])).max() > 0.1 * np.abs(wanted).max()
    check(experts.forward_modular(x, weights, ids), wanted, torch.bfloat16)


def test_checkpoints_are_claimed_on_hopper_alone():
    mixture, dense = types.SimpleNamespace(num_local_experts=8), types.SimpleNamespace(hidden_size=8)
    for arguments, wanted in ((("NVFP4", None, mixture, True), True), (("W4A16_NVFP4", None, mixture, True), True),
                              (("NVFP4", None, mixture, False), False), (("NVFP4", None, dense, True), False),
                              (("NVFP4", "modelopt_fp4", mixture, True), False),
                              (("FP8", None, mixture, True), False), ((None, None, mixture, True), False),
                              (("NVFP4", plugin.METHOD, mixture, False), True)):
        assert plugin.claims(*arguments) == wanted, arguments
    method = get_quantization_config(plugin.METHOD)
    # No GPU of that capability, or a choice of the user.
    assert method.override_quantization_method(QUANTISATION, plugin.METHOD, mixture) == plugin.METHOD
    assert method.override_quantization_method(QUANTISATION, "modelopt_fp4", mixture) is None
    assert method.override_quantization_method(COMPRESSED, plugin.METHOD, mixture) == plugin.METHOD
    for other in (dict(quant_method="gptq"), dict(COMPRESSED, format="pack-quantized"), None):
        assert method.override_quantization_method(other, plugin.METHOD, mixture) is None


def test_layers_that_are_not_computed_are_refused(rng):
    for options, message in ((dict(activation="relu2"), "activation silu, .* but got relu2"),
                             (dict(has_bias=True), "without bias and LoRA")):
        with pytest.raises(nvfp4.ArgumentError, match=message):
            make_layer(**options)
    runner = make_layer(apply_router_weight_on_input=True)
    with pytest.raises(nvfp4.ArgumentError, match="weights of the router on results"):
        load(runner, make_weights(rng)[0])


def test_another_version_is_left_alone(monkeypatch):
    monkeypatch.setattr(vllm, "__version__", "0.34.1")
    with pytest.warns(UserWarning, match="expected vLLM 0.33 for the plugin nvfp4, but got 0.34.1"):
        plugin.register()
