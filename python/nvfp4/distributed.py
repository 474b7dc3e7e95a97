# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expert parallelism for torch: the experts of a layer on the ranks of a process group, rows exchanged by its all-to-all.

A row visits the rank of each of its experts, where :class:`nvfp4.torch.MoELayer` computes it, and the rank that it came
from adds up what returns in the order of the slots, in float32. So the sums have the same bits for every number of ranks
and every placement of experts. Counts are exchanged first, which waits for the device; a CUDA graph cannot capture it.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from ._torch_layer import MoELayer
from .errors import ArgumentError
from .layer import MoEWeights

__all__ = ["MoE", "experts_of"]


def experts_of(rank: int, ranks: int, experts: int) -> range:
    """The experts of a rank: neighbours, as many as the others have or one more."""
    if not 1 <= ranks <= experts:
        raise ArgumentError(f"expected from 1 to {experts} ranks, the number of experts, but got {ranks}")
    least, more = divmod(experts, ranks)
    first = rank * least + min(rank, more)
    return range(first, first + least + (rank < more))


def _slice(weights: MoEWeights, experts: range) -> MoEWeights:
    """The weights of some experts, on the same memory."""
    part = slice(experts.start, experts.stop)
    changes: dict[str, Any] = {"w13": weights.w13[part], "w2": weights.w2[part]}
    for name in ("w13_multiplier", "w2_multiplier", "bias13", "bias2", "w2_input_multiplier"):
        value = getattr(weights, name)
        if np.ndim(value) != 0:
            changes[name] = value[part]
    return dataclasses.replace(weights, **changes)


class MoE(torch.nn.Module):
    """The experts of a layer that the ranks of ``group`` (None: all) share: each keeps those of :func:`experts_of`.

    ``weights`` are :class:`nvfp4.MoEWeights` of all experts, the same on every rank; ``device``, ``activation_format``
    and ``quantizer`` are those of :class:`nvfp4.torch.MoELayer`. The tensors of a call are on ``device``, and the
    backend of the group is one for it, such as gloo for the CPU and nccl for GPUs.
    """

    def __init__(self, weights: MoEWeights, *, group: Any = None, device: Any = None, activation_format: str | None = None,
                 quantizer: Any = None):
        super().__init__()
        if not isinstance(weights, MoEWeights):
            raise ArgumentError(f"expected weights as MoEWeights(w13, w2, ...), but got {type(weights).__name__}")
        if not dist.is_initialized():
            raise ArgumentError("expected a process group, which torch.distributed.init_process_group makes, but got none")
        self.group, self.count, self.hidden = group, weights.experts, weights.hidden
        self.ranks, self.rank = dist.get_world_size(group), dist.get_rank(group)
        if self.rank < 0:
            raise ArgumentError("expected a rank of the group, but got one outside of it")
        places = [experts_of(rank, self.ranks, self.count) for rank in range(self.ranks)]
        # Rows have the same bits however many there are.
        self.experts = MoELayer(_slice(weights, places[self.rank]), device=device, dtype=torch.float32,
                                activation_format=activation_format, quantizer=quantizer, determinism="batch_invariant")
        where = self.experts.w13.device
        #: The rank of each expert and its number there; those of no expert stand last.
        self.register_buffer("_rank_of", torch.tensor([rank for rank, place in enumerate(places) for _ in place] + [self.ranks],
                                                      device=where), persistent=False)
        self.register_buffer("_number_of", torch.tensor([i for place in places for i in range(len(place))] + [0],
                                                        dtype=torch.int32, device=where), persistent=False)

    def _check(self, x: torch.Tensor, topk_ids: torch.Tensor, topk_weights: torch.Tensor) -> None:
        if x.ndim != 2 or x.shape[1] != self.hidden:
            raise ArgumentError(f"expected x of shape [T, {self.hidden}], but got {tuple(x.shape)}")
        if topk_ids.ndim != 2 or topk_ids.shape[0] != x.shape[0] or topk_weights.shape != topk_ids.shape:
            raise ArgumentError(f"expected topk_ids and topk_weights of shape [{x.shape[0]}, top_k], but got "
                                f"{tuple(topk_ids.shape)} and {tuple(topk_weights.shape)}")
        if topk_ids.dtype not in (torch.int32, torch.int64):
            raise ArgumentError(f"expected topk_ids of int32 or int64, but got {topk_ids.dtype}")
        for name, value in (("x", x), ("topk_ids", topk_ids), ("topk_weights", topk_weights)):
            if value.device != self.experts.w13.device:
                raise ArgumentError(f"expected {name} on {self.experts.w13.device}, where the weights are, but got it on "
                                    f"{value.device}")

    @torch.no_grad()
    def forward(self, x: torch.Tensor, topk_ids: torch.Tensor, topk_weights: torch.Tensor) -> torch.Tensor:
        """The sums ``[T, H]``, of the type of ``x`` ``[T, H]``, over the experts ``topk_ids`` ``[T, top_k]`` (int32 or
        int64; other numbers than those of experts are none) with the factors ``topk_weights`` ``[T, top_k]``.

        A collective call: every rank of the group makes it, also with T = 0; T and top_k may differ. ArgumentError for
        shapes and types that do not go together, which the other ranks wait for as long as their group does.
        """
        self._check(x, topk_ids, topk_weights)
        ids = topk_ids.long().flatten()
        ids = torch.where((ids < 0) | (ids > self.count), self.count, ids)
        owner = self._rank_of[ids]  # type: ignore[index]
        order = owner.argsort(stable=True)
        sent = torch.bincount(owner, minlength=self.ranks + 1)[:self.ranks]
        received = torch.empty_like(sent)
        dist.all_to_all_single(received, sent, group=self.group)
        out_counts, in_counts = sent.tolist(), received.tolist()
        order = order[:sum(out_counts)]
        # The row and the number of its expert, in one buffer.
        rows = x[order // max(topk_ids.shape[1], 1)].contiguous()
        numbers = self._number_of[ids[order]]  # type: ignore[index]
        outgoing = torch.cat([rows.view(torch.uint8), numbers.view(torch.uint8).reshape(-1, 4)], 1)
        incoming = torch.empty((sum(in_counts), outgoing.shape[1]), dtype=torch.uint8, device=x.device)
        dist.all_to_all_single(incoming, outgoing, in_counts, out_counts, group=self.group)
        here = incoming[:, :-4].contiguous().view(x.dtype)
        number = incoming[:, -4:].contiguous().view(torch.int32)
        computed = self.experts(here, topk_ids=number, topk_weights=torch.ones_like(number, dtype=torch.float32))
        returned = torch.empty((len(order), self.hidden), device=x.device)
        dist.all_to_all_single(returned, computed, out_counts, in_counts, group=self.group)
        slots = torch.zeros((ids.shape[0], self.hidden), device=x.device)
        slots[order] = returned
        return self._combine(slots.reshape(*topk_ids.shape, self.hidden), topk_weights.float()).to(x.dtype)

    @staticmethod
    def _combine(slots: torch.Tensor, factors: torch.Tensor) -> torch.Tensor:
        """Sums over the slots of each token, in their order."""
        total = torch.zeros_like(slots[:, 0]) if slots.shape[1] else slots.new_zeros((slots.shape[0], slots.shape[2]))
        for slot in range(slots.shape[1]):
            total = total + factors[:, slot, None] * slots[:, slot]
        return total
