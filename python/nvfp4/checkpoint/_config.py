# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The quantisation of a model, from the files of its folder: ``config.json`` or ``hf_quant_config.json``.

Tensors say by themselves how they are to be read; a configuration that contradicts them is an error, not a choice.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import json
import os
import pathlib
import re
import stat
from collections.abc import Mapping
from typing import Any

from ..errors import CheckpointError
from ..tensors import FORMATS

# Where producers say what they write:
# - compressed-tensors (github.com/vllm-project/compressed-tensors), src/compressed_tensors: config/base.py names the
#   formats (nvfp4-pack-quantized, mxfp4-pack-quantized), quantization/quant_config.py the fields, of which a group may be
#   the name of a preset with its targets (quantization/quant_scheme.py); utils/match.py: names match whole or, behind
#   "re:", as expressions, and before classes of layers such as Linear.
# - ModelOpt (github.com/NVIDIA/Model-Optimizer), modelopt/torch/export: quant_utils.py (process_layer_quant_config: MXFP4
#   is spelled in lower case there, and has no group_size; quantized_layers where there is more than one format;
#   exclude_modules with wildcards), convert_hf_config.py (exclude_modules is ignore in config.json).
# - gpt-oss: quant_method mxfp4 in config.json (huggingface/transformers, src/transformers/utils/quantization_config.py).
_LONGEST = 100_000_000
_EVERY = "*"
_CLASSES = ("Linear",)


@dataclasses.dataclass(frozen=True)
class Scheme:
    """How the layers that ``targets`` match are quantised: ``name`` as the producer spells it, ``format`` as
    :data:`nvfp4.FORMATS` does or None for one that it has not, ``group_size`` None where it is not said."""

    name: str
    targets: tuple[str, ...] = (_EVERY,)
    group_size: int | None = None

    @property
    def format(self) -> str | None:
        return next((name for name in ("nvfp4", "mxfp4") if name in self.name.lower()), None)


@dataclasses.dataclass(frozen=True)
class QuantizationConfig:
    """The quantisation of a model: ``convention`` is one of CONVENTIONS, or the producer's ``quant_method`` if it is none
    of them; ``schemes`` and the layers that are ``ignored``, as names, wildcards, or expressions behind ``re:``."""

    file: pathlib.Path
    convention: str
    schemes: tuple[Scheme, ...] = ()
    ignored: tuple[str, ...] = ()

    def ignores(self, layer: str) -> str | None:
        """The pattern that excludes a layer, or None."""
        return next((pattern for pattern in self.ignored if self._matches(pattern, layer)), None)

    def scheme_of(self, layer: str, *, linear: bool = True) -> Scheme | None:
        """The scheme of a layer, by name before by class, of which it has none unless it is ``linear``; None where it is
        left out or no scheme has it."""
        if self.ignores(layer) is not None:
            return None
        named = (s for s in self.schemes if any(self._matches(pattern, layer) for pattern in s.targets))
        return next(named, next((s for s in self.schemes if linear and any(t in _CLASSES for t in s.targets)), None))

    def check(self, layer: str, format: str, *, linear: bool = True) -> None:
        """CheckpointError where a layer whose tensors are of ``format`` is said to be of another."""
        scheme = self.scheme_of(layer, linear=linear)
        if scheme is None or scheme.format is None:
            return
        if scheme.format != format:
            raise CheckpointError(f"{self.file}: expected {layer} in {scheme.format}, as quantisation '{scheme.name}' "
                                  f"says, but its tensors are {format}")
        if scheme.group_size not in (None, FORMATS[format].block):
            raise CheckpointError(f"{self.file}: expected a group size of {FORMATS[format].block} for {layer} in "
                                  f"{format}, but got {scheme.group_size}")

    def _matches(self, pattern: str, layer: str) -> bool:
        if not pattern.startswith("re:"):
            return fnmatch.fnmatchcase(layer, pattern)
        try:
            return re.match(pattern[3:], layer) is not None
        except re.error as error:
            raise CheckpointError(f"{self.file}: expected an expression behind 're:', but '{pattern}' is none: {error}"
                                  ) from None


def read_json(file: pathlib.Path) -> Mapping[str, Any]:
    """An object in JSON."""
    try:
        # Opening a named pipe must not wait for a writer.
        with open(os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise CheckpointError(f"{file}: expected a regular file")
            text = stream.read(_LONGEST + 1)
        if len(text) > _LONGEST:
            raise CheckpointError(f"{file}: expected at most {_LONGEST} bytes, but got more")
        value = json.loads(text)
    except OSError as error:
        raise CheckpointError(f"{file}: could not read the file: {error.strerror}") from None
    except CheckpointError:
        raise
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{file}: expected JSON, but {error}") from None
    if not isinstance(value, dict):
        raise CheckpointError(f"{file}: expected an object, but got {type(value).__name__}")
    return value


def read_config(folder: pathlib.Path) -> QuantizationConfig | None:
    """The quantisation that a folder of a model speaks of, None if it speaks of none."""
    file = folder / "config.json"
    if file.exists():
        config = read_json(file)
        text = config.get("text_config")
        found = config.get("quantization_config") or (isinstance(text, dict) and text.get("quantization_config"))
        if found:
            return parse_config(file, found)
    file = folder / "hf_quant_config.json"
    if file.exists():
        found = read_json(file).get("quantization", {})
        if not isinstance(found, dict):
            raise CheckpointError(f"{file}: expected quantization to be an object, but got {type(found).__name__}")
        return parse_config(file, {"quant_method": "modelopt", **found})
    return None


def parse_config(file: pathlib.Path, config: Any) -> QuantizationConfig:
    """The ``quantization_config`` of a model, which ``file`` holds."""
    try:
        method = config["quant_method"]
        parse = {"compressed-tensors": _compressed_tensors, "modelopt": _modelopt, "mxfp4": _gpt_oss}.get(method)
        if parse is None:
            return QuantizationConfig(file, str(method))
        convention = "gpt-oss" if method == "mxfp4" else method
        keys = ("ignore", "exclude_modules", "modules_to_not_convert")
        ignored = next((config[key] for key in keys if config.get(key)), [])
        return QuantizationConfig(file, convention, tuple(parse(config)), _names(ignored))
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise CheckpointError(f"{file}: expected a quantisation config with quant_method and what belongs to it, but "
                              f"{error!r}") from None


def _names(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise ValueError(f"expected a list of names, but got {value!r}")
    return tuple(value)


def _size(value: Any) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise ValueError(f"expected a group size as a whole number, but got {value!r}")
    # ModelOpt writes 0 where it has none.
    return value or None


def _compressed_tensors(config: Mapping[str, Any]) -> list[Scheme]:
    schemes = []
    for name, group in config["config_groups"].items():
        if isinstance(group, list):
            schemes.append(Scheme(name, _names(group)))
        else:
            size = (group.get("weights") or {}).get("group_size")
            schemes.append(Scheme(str(group.get("format") or config["format"]), _names(group["targets"]), _size(size)))
    return schemes


def _modelopt(config: Mapping[str, Any]) -> list[Scheme]:
    algorithm = config.get("quant_algo")
    if algorithm is None:  # such as a model of which only the KV cache is quantised
        return []
    if algorithm == "MIXED_PRECISION":
        return [Scheme(str(layer["quant_algo"]), (name,), _size(layer.get("group_size")))
                for name, layer in config["quantized_layers"].items()]
    return [Scheme(str(algorithm), (_EVERY,), _size(config.get("group_size")))]


def _gpt_oss(config: Mapping[str, Any]) -> list[Scheme]:
    return [Scheme("mxfp4")]
