# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of the checkpoint of a Transformers model, by the modules that they belong to."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from transformers.conversion_mapping import get_model_conversion_mapping
from transformers.core_model_loading import WeightRenaming

from .checkpoint import Checkpoint, QuantizationConfig
from .checkpoint._fields import FIELDS
from .errors import CheckpointError

__all__ = ["Files", "find_layers"]

# Fields that only a quantised layer has; codes of ModelOpt are bytes of a field that others have too.
_PACKED = {name for names in FIELDS.values() for name in names[:3]} - {"weight"}
_STACKED = ("_blocks", "_scales")


class Files(Checkpoint):
    """The tensors of several ``.safetensors`` files, or some of them, with the quantisation of their model. Arrays are
    copies: layers that are made of them outlive the files."""

    def __init__(self, files: Iterable[Any], quantization: QuantizationConfig):
        self._where = {name: file for file in map(Checkpoint, files) for name in file}
        self.path = quantization.file.parent
        self.__dict__["quantization"] = quantization

    @property
    def _names(self) -> dict[str, Checkpoint]:
        return self._where

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._where:
            raise CheckpointError(f"{self.path}: expected a tensor called '{name}', but there is none")
        return self._where[name][name].copy()

    def dtype(self, name: str) -> np.dtype:
        """The type of a tensor."""
        return self._where[name][name].dtype

    def only(self, names: Iterable[str]) -> Files:
        """These tensors of them."""
        part = Files((), self.quantization)  # type: ignore[arg-type]
        part._where = {name: self._where[name] for name in names}
        return part


def _renamer(model: Any) -> Callable[[str], list[str]]:
    """From a name in a checkpoint to those that it may have in the model: with its renamings, and with and without the
    prefix of the base model."""
    renamings = [each for each in get_model_conversion_mapping(model) if isinstance(each, WeightRenaming)]
    prefix = f"{model.base_model_prefix}."

    def rename(name: str) -> list[str]:
        for each in renamings:
            name, _ = each.rename_source_key(name)
        return [name, name.removeprefix(prefix), prefix + name]

    return rename


def _is_packed(tensors: Files, name: str) -> bool:
    field = name.rpartition(".")[2]
    # Codes whose scales are missing are packed, too: the reader says so.
    return (field in _PACKED or field.endswith(_STACKED) or
            field == "weight" and tensors.dtype(name) == np.uint8)


def find_layers(model: Any, tensors: Files, experts: Iterable[str]) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Quantised layers of a model: ``{module: name in the checkpoint}``, and the names of the tensors of each module.

    A module is one of those called ``experts``, or linear. CheckpointError for quantised tensors of another.
    """
    modules, stacks = dict(model.named_modules()), set(experts)
    rename = _renamer(model)
    found: dict[str, str] = {}
    names: dict[str, list[str]] = {}
    for name in tensors:
        owner = _owner(rename(name), stacks, modules)
        if owner is None:
            continue
        module, suffix = owner
        names.setdefault(module, []).append(name)
        if module in found or not _is_packed(tensors, name):
            continue
        if module not in stacks and not isinstance(modules[module], torch.nn.Linear):
            raise CheckpointError(f"expected quantised tensors of experts and linear layers, but got '{name}' of "
                                  f"{module}, a {type(modules[module]).__name__}")
        if not name.endswith(suffix):
            raise CheckpointError(f"expected a name that ends in '{suffix}' for a tensor of {module}, but got '{name}'")
        found[module] = name.removesuffix(suffix)
    return found, {module: names[module] for module in found}


def _owner(candidates: list[str], stacks: set[str], modules: dict[str, Any]) -> tuple[str, str] | None:
    """The module that a tensor of these names belongs to, experts before what is in them, and what is behind its name."""
    for name in candidates:
        parts = name.split(".")
        ends = [".".join(parts[:i]) for i in range(1, len(parts))]
        for module in (*(end for end in ends if end in stacks), *ends[-1:]):
            if module in modules:
                return module, name[len(module):]
    return None
