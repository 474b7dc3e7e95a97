# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The quantiser of Transformers that loads checkpoints in 4 bits into packed layers."""

from __future__ import annotations

import copy
import dataclasses
import pathlib
import re
from typing import Any

import torch
from transformers import AutoConfig
from transformers.quantizers import HfQuantizer, register_quantization_config, register_quantizer
from transformers.quantizers.auto import AUTO_QUANTIZATION_CONFIG_MAPPING
from transformers.utils import cached_file, logging
from transformers.utils.quantization_config import QuantizationConfigMixin

from ._torch_layer import MoELayer
from ._torch_linear import PackedLinear
from ._transformers_experts import activation_of_experts, check_experts, is_experts
from ._transformers_files import Files, find_layers
from .checkpoint import QuantizationConfig, load_linear, load_moe
from .checkpoint._config import parse_config, read_json
from .checkpoint._fields import FIELDS
from .errors import ArgumentError, CheckpointError, check_one_of
from .options import Gate
from .tensors import FORMATS

__all__ = ["PackedConfig", "PackedExperts", "packed_config"]

METHOD = "nvfp4-packed"
_CONVENTIONS = {"modelopt": "modelopt", "compressed-tensors": "compressed-tensors", "mxfp4": "gpt-oss"}
_PLAIN = {torch.bfloat16: "bf16", torch.float16: "f16"}
_LINEAR_FIELDS = "|".join(sorted({name for names in FIELDS.values() for name in names} | {"bias"}))
_logger = logging.get_logger("transformers.nvfp4")


@register_quantization_config(METHOD)
class PackedConfig(QuantizationConfigMixin):
    """How a model is loaded: ``checkpoint`` is the ``quantization_config`` that the producer wrote, of ModelOpt,
    compressed-tensors or gpt-oss. ``activation_format`` None leaves activations in the type of the model, bfloat16 or
    float16 (W4A16); one of nvfp4.FORMATS is what rows are quantised to (W4A4 with nvfp4 or mxfp4), see
    :func:`nvfp4.moe_layer`; linear layers take nvfp4 alone. ArgumentError for another format, CheckpointError for a
    quantisation that this package does not read."""

    def __init__(self, checkpoint: dict[str, Any], activation_format: str | None = None, quant_method: str = METHOD):
        if activation_format is not None:
            check_one_of("activation_format", activation_format, FORMATS)
        check_one_of("quant_method", quant_method, (METHOD,))
        self.quant_method, self.checkpoint, self.activation_format = METHOD, checkpoint, activation_format
        self.read(pathlib.Path("quantization_config"))

    def read(self, file: pathlib.Path) -> QuantizationConfig:
        """The settings in the producer's config; ``file`` is for messages."""
        if not isinstance(self.checkpoint, dict):
            raise CheckpointError(f"{file}: expected an object, but got {type(self.checkpoint).__name__}")
        method = self.checkpoint.get("quant_method")
        if method not in _CONVENTIONS:
            raise CheckpointError(f"{file}: expected quant_method {', '.join(_CONVENTIONS)}, but got {method!r}")
        config = parse_config(file, self.checkpoint)
        if not any(scheme.format for scheme in config.schemes):
            names = ", ".join(scheme.name for scheme in config.schemes) or "none"
            raise CheckpointError(f"{file}: expected a quantisation to nvfp4 or mxfp4, but got {names}")
        return config


class _ModelOptConfig(PackedConfig):
    """ModelOpt's own config, which Transformers does not know: W4A16."""

    def __init__(self, checkpoint: dict[str, Any] | None = None, activation_format: str | None = None, **fields: Any):
        if fields.pop("quant_method", METHOD) == "modelopt":
            checkpoint = {"quant_method": "modelopt", **fields}
        super().__init__(checkpoint or {}, activation_format)


def packed_config(name: Any, *, activation_format: str | None = None, **options: Any) -> Any:
    """The configuration of a checkpoint in 4 bits, a folder or a name of the hub, for
    ``AutoModelForCausalLM.from_pretrained(name, config=packed_config(name))``: the model has packed layers
    (:class:`PackedConfig`). ``options`` are those of ``AutoConfig.from_pretrained``. CheckpointError for a model that is
    not quantised, or to what this package does not read."""
    config = AutoConfig.from_pretrained(name, **options)
    found = next((each.quantization_config for each in (config, config.get_text_config())
                  if getattr(each, "quantization_config", None) is not None), None)
    if found is None:
        file = cached_file(name, "hf_quant_config.json", _raise_exceptions_for_missing_entries=False,
                           _raise_exceptions_for_gated_repo=False, **_hub(options))
        if file is None:
            raise CheckpointError(f"{name}: expected a quantization_config in config.json, or hf_quant_config.json, but "
                                  "there is neither")
        found = {"quant_method": "modelopt", **read_json(pathlib.Path(file)).get("quantization", {})}
    if isinstance(found, QuantizationConfigMixin):
        found = found.to_dict()
    for each in (config, config.get_text_config()):
        if hasattr(each, "quantization_config"):
            del each.quantization_config
    config.quantization_config = PackedConfig(copy.deepcopy(found), activation_format).to_dict()
    return config


def _hub(options: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items()
            if key in ("revision", "token", "cache_dir", "local_files_only", "subfolder")}


class PackedExperts(torch.nn.Module):
    """Experts of a model with packed weights, called as those of Transformers; the implementation that is set for a
    model is not theirs."""

    def __init__(self, layer: MoELayer, num_experts: int):
        super().__init__()
        self.layer, self.num_experts = layer, num_experts

    def forward(self, hidden_states: torch.Tensor, top_k_index: torch.Tensor,
                top_k_weights: torch.Tensor) -> torch.Tensor:
        """As :func:`nvfp4.transformers.experts_forward`."""
        return self.layer(hidden_states, topk_ids=top_k_index, topk_weights=top_k_weights)


class _Absent(torch.nn.Module):
    """Stands for a module while the others are loaded: no parameter, and the module, in no list, as ``original``."""

    def __init__(self, original: torch.nn.Module):
        super().__init__()
        self.__dict__["original"] = original


@register_quantizer(METHOD)
class PackedQuantizer(HfQuantizer):
    """Takes quantised layers out of the hands of Transformers' loader, which would copy them, and reads them from their
    files afterwards."""

    quantization_config: PackedConfig

    def validate_environment(self, *arguments: Any, **options: Any) -> None:
        """ArgumentError for weights on disk, and for a model that is not quantised yet."""
        if not self.pre_quantized:
            raise ArgumentError("expected a checkpoint in 4 bits; for one in bfloat16 load the model and use "
                                "nvfp4.transformers.quantize_experts")
        places = options.get("device_map")
        if isinstance(places, dict) and "disk" in places.values():
            raise ArgumentError("expected a device_map without disk, for packed layers are not offloaded")

    def _process_model_before_weight_loading(self, model: Any, checkpoint_files: Any = None, **_: Any) -> None:
        act, dtype = self.quantization_config.activation_format, model.dtype
        if act is None and dtype not in _PLAIN:
            raise ArgumentError(f"expected dtype torch.bfloat16 or torch.float16, or activation_format=, such as nvfp4, "
                                f"but got {dtype}")
        files = checkpoint_files or []
        if not files or not all(str(file).endswith(".safetensors") for file in files):
            raise CheckpointError(f"expected a checkpoint of .safetensors files, but got {', '.join(map(str, files)) or 'none'}")
        self._dtype = dtype
        self._files = Files(files, self.quantization_config.read(pathlib.Path(files[0]).parent / "config.json"))
        stacks = {name for name, module in model.named_modules() if is_experts(module)}
        self._layers, self._names = find_layers(model, self._files, stacks)
        if not self._layers:
            raise CheckpointError(f"{self._files.path}: expected quantised tensors of the model's experts or linear "
                                  "layers, but got none")
        ignored = set()
        for name, source in self._layers.items():
            module = model.get_submodule(name)
            _replace(model, name, _Absent(module))
            fields = "" if name in stacks else f"(?:{_LINEAR_FIELDS})$"
            ignored |= {_anywhere(each) + r"\." + fields for each in (name, source)}
        model._keys_to_ignore_on_load_unexpected = set(model._keys_to_ignore_on_load_unexpected or ()) | ignored

    def _process_model_after_weight_loading(self, model: Any, **_: Any) -> None:
        if getattr(model, "_device_mesh", None) is not None or getattr(model, "_tp_size", None) is not None:
            raise ArgumentError("expected a model on one rank, for packed layers are not split; use "
                                "nvfp4.distributed.MoE, or load bfloat16 experts and set_experts_implementation('nvfp4')")
        with torch.no_grad():
            for name, source in self._layers.items():
                original = model.get_submodule(name).original
                tensors = self._files.only(self._names[name])
                build = self._experts if is_experts(original) else self._linear
                _replace(model, name, build(original, name, source, tensors, _place(model, name)).eval())
        self._cast(model)
        del self._files, self._layers, self._names
        # Packed layers have no gradient; without this one would be asked for behind every embedding.
        model.requires_grad_(False)

    def _cast(self, model: Any) -> None:
        """Gives parameters the type of the model: Transformers leaves renamed ones of such models in that of the file."""
        kept = [re.compile(pattern) for pattern in model._get_dtype_plan(self._dtype)]
        for name, parameter in model.named_parameters():
            if parameter.is_floating_point() and not any(pattern.search(name) for pattern in kept):
                parameter.data = parameter.data.to(self._dtype)

    def _experts(self, original: Any, name: str, source: str, tensors: Files, place: torch.device) -> torch.nn.Module:
        check_experts(original)
        prefix, _, last = source.rpartition(".")
        if last != "experts":
            raise CheckpointError(f"expected the experts of {name} below a name 'experts', but got '{source}'")
        convention = self._files.quantization.convention  # type: ignore[union-attr]
        activation = activation_of_experts(original)
        activation = dataclasses.replace(activation, gate=Gate(1 if convention == "gpt-oss" else 0))
        loaded = load_moe(tensors, prefix, convention=convention, activation=activation)
        weights, shape = loaded.weights, original.gate_up_proj.shape
        hidden, rows = shape[1:] if getattr(original, "is_transposed", False) else shape[:0:-1]
        got = weights.experts, weights.hidden, 2 * weights.width
        if got != (shape[0], hidden, rows):
            raise CheckpointError(f"expected {shape[0]} experts of hidden size {hidden} and {rows} gate and up rows in "
                                  f"'{source}', as {name} has, but got {got[0]}, {got[1]} and {got[2]}")
        for bias, parameter in ((weights.bias13, "gate_up_proj_bias"), (weights.bias2, "down_proj_bias")):
            if (bias is None) != (getattr(original, parameter, None) is None):
                raise CheckpointError(f"expected {'no ' if bias is not None else ''}{parameter} in '{source}', as {name} "
                                      f"has{' none' if bias is not None else ''}")
        act = self.quantization_config.activation_format
        if act is not None:
            for note in loaded.notes:
                _logger.warning_once(note)
        return PackedExperts(MoELayer(weights, activation_format=act or _PLAIN[self._dtype], device=place), shape[0])

    def _linear(self, original: Any, name: str, source: str, tensors: Files, place: torch.device) -> torch.nn.Module:
        convention = self._files.quantization.convention  # type: ignore[union-attr]
        layer = load_linear(tensors, source, convention=convention if convention in FIELDS else "auto")
        wanted = original.out_features, original.in_features
        if layer.weight.shape != wanted:
            raise CheckpointError(f"expected a weight {list(wanted)} in '{source}', as {name} has, but got "
                                  f"{list(layer.weight.shape)}")
        if (layer.bias is None) != (original.bias is None):
            raise CheckpointError(f"expected {'a' if layer.bias is None else 'no'} bias in '{source}', as {name} has "
                                  f"{'one' if layer.bias is None else 'none'}")
        return PackedLinear(layer, activation_format=self.quantization_config.activation_format, device=place,
                            dtype=self._dtype if self._dtype in _PLAIN else torch.bfloat16)

    def is_serializable(self) -> bool:
        """Packed layers are not written; the checkpoint that they came from is what to keep."""
        return False

    @property
    def is_trainable(self) -> bool:
        return False

    @property
    def is_compileable(self) -> bool:
        return True


# Transformers 5.17 has no quantiser of this name; one that a later version has stays.
if "modelopt" not in AUTO_QUANTIZATION_CONFIG_MAPPING:
    register_quantization_config("modelopt")(_ModelOptConfig)
    register_quantizer("modelopt")(PackedQuantizer)


def _anywhere(name: str) -> str:
    """An expression for the names of all layers like this one."""
    return "^" + re.sub(r"\d+", r"\\d+", re.escape(name))


def _replace(model: Any, name: str, module: torch.nn.Module) -> None:
    parent, _, last = name.rpartition(".")
    setattr(model.get_submodule(parent), last, module)


def _place(model: Any, name: str) -> torch.device:
    """The device of a module: that of the parameters that were loaded nearest to it."""
    while name:
        name = name.rpartition(".")[0]
        for each in model.get_submodule(name).parameters():
            if each.device.type != "meta":
                return each.device
    raise ArgumentError("expected a model with parameters that are not offloaded")
