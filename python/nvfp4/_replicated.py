# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Experts on ranks that all have the same tokens, as tensor-parallel models have them: no row travels to its experts, and the
rows of each token meet on one rank, which sums them in the order of the slots."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist

from ._exchange import Arrived
from ._expert_programs import input_wire, run_experts, sum_slots
from ._torch_layer import MoELayer

__all__ = ["replicated_experts"]


@torch.no_grad()
def replicated_experts(layer: MoELayer, x: torch.Tensor, topk_ids: torch.Tensor, topk_weights: torch.Tensor, *,
                       group: Any = None, all_reduced: bool = False) -> torch.Tensor:
    """The sums ``[T, H]``, of the type of ``x``, of tokens ``x`` ``[T, H]`` that every rank of ``group`` has, over experts of
    which ``layer`` has those of this rank: ``topk_ids`` ``[T, k]`` (int32 or int64) are their numbers there, and any other
    number, such as the sentinel E of Transformers, is an expert of another rank or none. ``topk_weights`` ``[T, k]`` are
    read where the expert is here.

    Each slot is of one rank at most. The sums are those of one rank with all experts, to the bit. With ``all_reduced``
    a rank returns the sums of its share of the tokens and zeros elsewhere, for a caller that then adds up the results of
    all ranks, which rounds nothing. A collective call, which waits for the device.
    """
    ranks, rank = dist.get_world_size(group), dist.get_rank(group)
    (tokens, slots), share = topk_ids.shape, -(-x.shape[0] // ranks)
    count = layer.signature.experts
    numbers = torch.where((topk_ids < 0) | (topk_ids >= count), -1, topk_ids).int()
    # Slots of this rank in the order of their tokens, and so of the ranks that these meet on.
    slot = torch.nonzero((numbers >= 0).flatten()).flatten()
    sent = torch.bincount(slot // (slots * max(share, 1)), minlength=ranks)
    received = torch.empty_like(sent)
    dist.all_to_all_single(received, sent, group=group)
    there, here = sent.tolist(), received.tolist()
    order = Arrived(x, numbers, None, count, len(slot)).sort("slot")
    rows = run_experts(layer, [part[order.message] for part in input_wire(layer).pack(x)], order.ends, order.places,
                       order.weights)
    head = torch.stack([slot.int(), topk_weights.float().flatten()[slot].view(torch.int32)], 1)
    outgoing = torch.cat([head, rows.view(torch.int32)], 1)
    incoming = outgoing.new_empty((sum(here), outgoing.shape[1]))
    dist.all_to_all_single(incoming, outgoing, here, there, group=group)
    first = min(rank * share, tokens)
    own = min(share, tokens - first)
    places = torch.full((own * slots,), -1, dtype=torch.int32, device=x.device)
    factors = torch.zeros(own * slots, device=x.device)
    at = incoming[:, 0].long() - first * slots
    places[at] = torch.arange(len(at), dtype=torch.int32, device=x.device)
    factors[at] = incoming[:, 1].contiguous().view(torch.float32)
    sums = sum_slots(incoming[:, 2:].contiguous().view(torch.float32), places.reshape(own, slots),
                     factors.reshape(own, slots), x.dtype)
    if all_reduced:
        return torch.nn.functional.pad(sums, (0, 0, first, tokens - first - own))
    whole = sums.new_empty((ranks * share, sums.shape[1]))
    dist.all_gather_into_tensor(whole, torch.nn.functional.pad(sums, (0, 0, 0, share - own)), group=group)
    return whole[:tokens]
