# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expert parallelism for torch: the experts of a layer on the ranks of a process group, rows exchanged by its collectives or
by kernels that write into the memory of other ranks.

A row visits the ranks of its experts, quantised by the rank of its token as the products take it, and that rank adds up the
rows that return, in the order of the slots and in float32. The sums therefore have the same bits for every number of ranks
and every placement of experts. docs/ExpertParallel.md has the protocol.
"""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Generator
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from ._exchange import Exchange, Message, StaticExchange
from ._expert_programs import Wire, input_wire, run_experts, sum_slots, wire_of
from ._one_sided import MEMORIES, OneSidedExchange, VirtualRank, VirtualRanks, finish
from ._placement import Placement, PlacementLike, balanced_placement, experts_of
from ._replicated import replicated_experts
from ._torch_device import DTYPES
from ._torch_layer import MoELayer
from .errors import ArgumentError, check_one_of
from .layer import MoEWeights
from .tensors import FORMATS

__all__ = ["MoE", "VirtualRanks", "balanced_placement", "experts_of", "replicated_experts"]

_ELEMENTS = ("f32", "bf16", "f16")
ORDERS = ("slot", "rank_grouped")
EXCHANGES = ("collectives", "one_sided")


def _slice(weights: MoEWeights, experts: Any) -> MoEWeights:
    """The weights of some experts, by their numbers; on the same memory where those are neighbours."""
    numbers = list(experts)
    is_run = numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    part: Any = slice(numbers[0], numbers[0] + len(numbers)) if is_run else numbers
    changes: dict[str, Any] = {}
    for name in ("w13", "w2"):
        whole = getattr(weights, name)
        if is_run:
            changes[name] = whole[part]
        else:
            changes[name] = dataclasses.replace(whole, values=whole.values[part], scales=whole.scales[part],
                                                shape=(len(numbers), *whole.shape[1:]))
    for name in ("w13_multiplier", "w2_multiplier", "bias13", "bias2", "w2_input_multiplier"):
        value = getattr(weights, name)
        if np.ndim(value) != 0:
            changes[name] = np.asarray(value)[part]
    return dataclasses.replace(weights, **changes)


def _group_of(group: Any, mesh: Any) -> Any:
    if mesh is None:
        return group
    if group is not None:
        raise ArgumentError("expected either group= or mesh=, but got both")
    if mesh.ndim != 1:
        raise ArgumentError(f"expected a mesh of one dimension, such as mesh['{(mesh.mesh_dim_names or ('ep',))[0]}'], but got "
                            f"one of {mesh.ndim}")
    return mesh.get_group()


def _one_sided_options(is_one_sided: bool, is_virtual: bool, memory: str | None, timeout: float | None) -> tuple[str, float]:
    """``memory`` and ``timeout``, or what None stands for."""
    given = ", ".join(f"{name}={value!r}" for name, value in (("memory", memory), ("timeout", timeout)) if value is not None)
    if given and not is_one_sided:
        raise ArgumentError(f"expected memory= and timeout= only with exchange one_sided, but got {given}")
    if memory is not None:
        check_one_of("memory", memory, tuple(MEMORIES))
        if is_virtual:
            raise ArgumentError(f"expected memory= only with a process group, but got memory={memory!r} with VirtualRanks")
    # A kernel has nanoseconds in 64 bits.
    if timeout is not None and not (isinstance(timeout, numbers.Real) and 0 < timeout <= 9e9):
        raise ArgumentError(f"expected a timeout of more than 0 and at most 9e9 seconds, but got {timeout!r}")
    return memory or "symmetric", 60.0 if timeout is None else float(timeout)


class MoE(torch.nn.Module):
    """The experts of a layer that the ranks of ``group`` (None: all), or of the one dimension of ``mesh``, share.

    ``weights`` are :class:`nvfp4.MoEWeights` of all experts, the same on every rank; ``device``, ``activation_format``
    and ``quantizer`` are those of :class:`nvfp4.torch.MoELayer`. The tensors of a call are on ``device``, and the
    backend of the group is one for it, such as gloo for the CPU and nccl for GPUs.

    - ``placement``: for each expert its rank, or the ranks that keep a copy; None: :func:`experts_of`. A slot goes to the
      rank of its token where that keeps the expert, and else to copy (t + r) mod n of n, for token t of rank r.
    - ``shared``: weights of experts that every token visits on its own rank, summed after the chosen ones.
    - ``dispatch_format``: the form of rows on their way, one of ``f32``, ``bf16``, ``f16`` and nvfp4.FORMATS. None is that
      of the activations, which rounds nothing; activations that are not quantised are rounded to any other. Those that
      are may have a type here: they are then quantised by the rank of the experts.
    - ``return_format``: that of rows on their way back. None is ``f32``, which rounds nothing; any other rounds the row of
      each slot (``order = slot``), or each partial sum, to it, quantised with a global scale of 1.
    - ``order``: ``slot`` adds up the slots of a token in their order. ``rank_grouped`` adds up the slots of each rank
      there, in their order, and these sums in the order of ranks: less to send back, but bits that depend on the placement.
    - ``max_tokens``: the most tokens of a rank in a call; more are an ArgumentError of every rank (with ``static`` on
      a GPU, or ``one_sided``, on other ranks by :meth:`check`).
    - ``static``: buffers for ``max_tokens`` tokens of ``top_k`` slots from each rank to each, whatever the counts. The host
      waits for nothing, so a CUDA graph may capture a call after the first one; meant for few tokens. On a GPU an error
      of another rank then shows in :meth:`check` only.
    - ``exchange``: ``collectives`` of the group's backend, or ``one_sided``, kernels on GPUs that reach each other's memory:
      they write rows where they are needed, and wait for others in a stream, never on the host. It takes ``max_tokens``,
      ``top_k`` and graphs as ``static`` does, errors of other ranks show in :meth:`check` too, and ``group`` may be one of
      :class:`VirtualRanks`.
    - ``memory``: what makes the memory of ``one_sided`` that other GPUs reach: ``symmetric``, torch's symmetric memory (also for
      None), or ``ipc``, handles of CUDA. VirtualRanks make their own.
    - ``timeout``: seconds, at most 9e9, that a kernel of ``one_sided`` waits for a rank; 60 for None. All ranks then end, with results that mean
      nothing, and :meth:`check` raises DeviceError.

    The constructor is collective. ArgumentError for options that do not go together, and where ranks have different ones.
    """

    group: Any
    count: int
    hidden: int
    ranks: int
    rank: int
    order: str
    max_tokens: int | None
    top_k: int | None
    placement: Placement
    experts: MoELayer
    shared: MoELayer | None

    def __init__(self, weights: MoEWeights, *, group: Any = None, mesh: Any = None, device: Any = None,
                 activation_format: str | None = None, quantizer: Any = None, placement: PlacementLike | None = None,
                 shared: MoEWeights | None = None, dispatch_format: str | None = None, return_format: str | None = None,
                 order: str = "slot", max_tokens: int | None = None, static: bool = False, top_k: int | None = None,
                 exchange: str = "collectives", memory: str | None = None, timeout: float | None = None):
        super().__init__()
        check_one_of("exchange", exchange, EXCHANGES)
        is_virtual, is_one_sided = isinstance(group, VirtualRank), exchange == "one_sided"
        if is_virtual and not is_one_sided:
            raise ArgumentError("expected exchange one_sided with VirtualRanks, but got collectives")
        memory, timeout = _one_sided_options(is_one_sided, is_virtual, memory, timeout)
        for name, value in (("weights", weights), ("shared", shared)):
            if not isinstance(value, MoEWeights) and not (name == "shared" and value is None):
                raise ArgumentError(f"expected {name} as MoEWeights(w13, w2, ...), but got {type(value).__name__}")
        if not is_virtual and not dist.is_initialized():
            raise ArgumentError("expected a process group, which torch.distributed.init_process_group makes, but got none")
        self.group, self.count, self.hidden = _group_of(group, mesh), weights.experts, weights.hidden
        if is_virtual:
            self.ranks, self.rank = len(group.ranks), group.rank
        else:
            self.ranks, self.rank = dist.get_world_size(self.group), dist.get_rank(self.group)
        if self.rank < 0:
            raise ArgumentError("expected a rank of the group, but got one outside of it")
        check_one_of("order", order, ORDERS)
        if shared is not None and shared.hidden != self.hidden:
            raise ArgumentError(f"expected shared experts of hidden size {self.hidden}, but got {shared.hidden}")
        if (static or is_one_sided) and (max_tokens is None or top_k is None):
            raise ArgumentError(f"expected max_tokens= and top_k= with {'exchange one_sided' if is_one_sided else 'static'}, whose "
                                "buffers they measure")
        if static and is_one_sided:
            raise ArgumentError("expected static or exchange one_sided, whose buffers have one size too, but got both")
        self.order, self.max_tokens, self.top_k = order, max_tokens, top_k
        self.placement = Placement(self.count, self.ranks, placement)
        # Rows have the same bits however many there are.
        options = dict(device=device, dtype=torch.float32, activation_format=activation_format, quantizer=quantizer,
                       determinism="batch_invariant")
        self.experts = MoELayer(_slice(weights, self.placement.local[self.rank]), **options)
        self.shared = None if shared is None else MoELayer(shared, **options)
        self._taken = input_wire(self.experts)
        self._sent = self._dispatch_wire(dispatch_format)
        check_one_of("return_format", return_format or "f32", (*_ELEMENTS, *FORMATS))
        self._returned = wire_of(return_format or "f32", self.hidden)
        # Kernels of exchange and products in one function.
        self._is_fused = is_one_sided and order == "slot" and self._sent is self._taken
        self._compare(exchange, memory, static, timeout)
        if is_one_sided:
            windows = group if is_virtual else MEMORIES[memory](self.group, self.device)
            self._exchange: Exchange = OneSidedExchange(windows, self.placement, self.rank, self.device, max_tokens, top_k,
                                                        self._sent.sizes, self._returned.sizes, order != "slot", timeout)
        else:
            kind = StaticExchange if static else Exchange
            self._exchange = kind(self.group, self.placement, self.rank, self.device, max_tokens, top_k)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.experts.w13.device

    def _dispatch_wire(self, form: str | None) -> Wire:
        taken = self._taken
        if form is None or form == taken.form:
            return taken
        check_one_of("dispatch_format", form, (*_ELEMENTS, *FORMATS))
        if form not in DTYPES and not taken.is_plain:
            raise ArgumentError(f"expected dispatch_format {taken.form}, that of the activations, or one of "
                                f"{', '.join(_ELEMENTS)}, but got {form}, which would quantise twice")
        return wire_of(form, self.hidden)

    def _compare(self, exchange: str, memory: str, static: bool, timeout: float) -> None:
        """ArgumentError on every rank where ranks have made different layers."""
        own = {"placement": self.placement.table, "hidden size": self.hidden, "activations": self._taken,
               "dispatch_format": self._sent, "return_format": self._returned, "order": self.order,
               "max_tokens": self.max_tokens, "exchange": exchange, "static": static, "kind of device": self.device.type,
               "top_k": self.top_k if static or exchange == "one_sided" else None,
               "memory": memory if exchange == "one_sided" else None,
               "timeout": timeout if exchange == "one_sided" else None}
        if isinstance(self.group, VirtualRank):
            of_ranks = self.group.compare(own)
        else:
            gathered: list[Any] = [None] * self.ranks
            dist.all_gather_object(gathered, own, group=self.group)
            of_ranks = dict(enumerate(gathered))
        first, *others = sorted(of_ranks)
        for rank in others:
            for name, value in of_ranks[rank].items():
                if value != of_ranks[first][name]:
                    raise ArgumentError(f"expected one {name} on every rank, but got {of_ranks[first][name]} on rank {first} and "
                                        f"{value} on rank {rank}")

    def _check(self, x: torch.Tensor, topk_ids: torch.Tensor, topk_weights: torch.Tensor,
               shared_weights: torch.Tensor | None) -> None:
        given = {"x": x, "topk_ids": topk_ids, "topk_weights": topk_weights, "shared_weights": shared_weights}
        for what, value in given.items():
            if not isinstance(value, torch.Tensor) and (value is not None or what != "shared_weights"):
                raise ArgumentError(f"expected {what} as a tensor of torch, but got {type(value).__name__}")
        if x.ndim != 2 or x.shape[1] != self.hidden:
            raise ArgumentError(f"expected x of shape [T, {self.hidden}], but got {tuple(x.shape)}")
        if topk_ids.ndim != 2 or topk_ids.shape[0] != x.shape[0] or topk_weights.shape != topk_ids.shape:
            raise ArgumentError(f"expected topk_ids and topk_weights of shape [{x.shape[0]}, top_k], but got "
                                f"{tuple(topk_ids.shape)} and {tuple(topk_weights.shape)}")
        if topk_ids.dtype not in (torch.int32, torch.int64):
            raise ArgumentError(f"expected topk_ids of int32 or int64, but got {topk_ids.dtype}")
        if shared_weights is not None:
            wanted = (x.shape[0], 0 if self.shared is None else self.shared.signature.experts)
            if tuple(shared_weights.shape) != wanted:
                raise ArgumentError(f"expected shared_weights of shape {wanted}, but got {tuple(shared_weights.shape)}")
        name = str(x.dtype).partition(".")[2]
        self.experts.signature.check_x(x.shape, name)
        if x.dtype not in DTYPES.values() or not x.dtype.is_floating_point:
            raise ArgumentError(f"expected x of float32, float16, bfloat16, but got {name}")
        for what, value in given.items():
            if value is not None and value.device != self.device:
                raise ArgumentError(f"expected {what} on {self.device}, where the weights are, but got it on {value.device}")

    @torch.no_grad()
    def forward(self, x: torch.Tensor, topk_ids: torch.Tensor, topk_weights: torch.Tensor,
                shared_weights: torch.Tensor | None = None) -> torch.Tensor:
        """The sums ``[T, H]``, of the type of ``x`` ``[T, H]``, over the experts ``topk_ids`` ``[T, top_k]`` (int32 or
        int64; other numbers than those of experts are none) with the factors ``topk_weights`` ``[T, top_k]``, and over the
        shared experts with ``shared_weights`` ``[T, S]`` (None: 1).

        A collective call: every rank of the group makes it, also with T = 0; T and top_k may differ, top_k not if static.
        ArgumentError on every rank for shapes and types of a rank that do not go together, and for more than
        ``max_tokens`` tokens.
        """
        return finish(self.steps(x, topk_ids, topk_weights, shared_weights))

    def steps(self, x: torch.Tensor, topk_ids: torch.Tensor, topk_weights: torch.Tensor,
              shared_weights: torch.Tensor | None = None) -> Generator[None, None, torch.Tensor]:
        """A call in steps, each of which ends before this rank waits for others."""
        refusal: ArgumentError | None = None
        claimed = x.shape[0] if isinstance(x, torch.Tensor) and x.ndim else 0
        try:
            self._check(x, topk_ids, topk_weights, shared_weights)
            self._exchange.check(*topk_ids.shape)
        except ArgumentError as error:
            # The others learn of it where they wait for this rank. Its message is one of torch.topk's numbers, whose kernels
            # there are already: the others do not wait for a compiler.
            refusal = error
            x, topk_ids = (torch.empty((0, each), dtype=dtype, device=self.device) for each, dtype in
                           ((self.hidden, torch.bfloat16), (self.top_k or 1, torch.int64)))
            topk_weights = torch.empty(topk_ids.shape, device=self.device)
        factors = topk_weights.float().contiguous()
        message = Message([x.contiguous()] if self._is_fused and not self._sent.is_plain else self._sent.pack(x), topk_ids,
                          factors if self.order == "rank_grouped" else None, claimed,
                          self._sent if self._is_fused and not self._sent.is_plain else None)
        plan = self._exchange.begin(message, refusal)
        own_rows = self._shared_rows(x) if refusal is None else None
        yield
        if self._is_fused:
            plan.run_experts(self.experts, self._sent, self._returned)
        else:
            arrived = plan.finish()
            plan.send_back(self._returned.pack(self._compute(arrived)))
        yield
        if self._is_fused and own_rows is None and self._returned.is_plain:
            result = plan.sum_slots(self._returned, factors, x.dtype)
            self._exchange.settle(refusal)
            return result
        returned = plan.returned()
        self._exchange.settle(refusal)
        rows = self._returned.unpack(returned, "f32" if own_rows is not None or not self._returned.is_plain
                                     else self._returned.form)
        places = plan.places(self.order)
        weights = factors if self.order == "slot" else torch.ones_like(places, dtype=torch.float32)
        if own_rows is not None:
            places, weights = self._with_shared(places, weights, len(rows), shared_weights)
            rows = torch.cat([rows, own_rows])
        return sum_slots(rows, places, weights, x.dtype)

    def check(self) -> None:
        """Waits for the device and raises the ArgumentError of a rank in earlier calls, if ``static`` or ``one_sided``
        kept one, and the DeviceError of an exchange that has ended."""
        self._exchange.raise_refusals()

    def _compute(self, arrived: Any) -> torch.Tensor:
        """Rows to return for the rows that arrived."""
        order = arrived.sort(self.order)
        if self._sent is self._taken:
            parts = arrived.take(order, self._sent.sizes)
        else:
            # Once for each row, which may have several slots here.
            whole = self._sent.unpack(arrived.split(self._sent.sizes), self._taken.form if self._taken.is_plain else "f32")
            parts = [part[order.message] for part in self._taken.pack(whole)]
        out = self._returned.form if self._returned.is_plain else "f32"
        return run_experts(self.experts, parts, order.ends, order.places, order.weights, out)

    def _shared_rows(self, x: torch.Tensor) -> torch.Tensor | None:
        """``[S * T, H]`` in float32: the rows of each shared expert."""
        if self.shared is None:
            return None
        count, tokens = self.shared.signature.experts, x.shape[0]
        rows = [part.repeat(count, 1) for part in input_wire(self.shared).pack(x)]
        ends = torch.arange(1, count + 1, dtype=torch.int32, device=x.device) * tokens
        places = torch.arange(count * tokens, dtype=torch.int32, device=x.device)[:, None]
        return run_experts(self.shared, rows, ends, places, torch.ones_like(places, dtype=torch.float32))

    def _with_shared(self, places: torch.Tensor, weights: torch.Tensor, first: int,
                     factors: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor]:
        """Places and weights with those of shared experts, whose rows begin at ``first``."""
        count, tokens = self.shared.signature.experts, places.shape[0]  # type: ignore[union-attr]
        more = first + torch.arange(count * tokens, dtype=torch.int32, device=places.device).reshape(count, tokens).T
        given = torch.ones((tokens, count), device=places.device) if factors is None else factors.float()
        return torch.cat([places, more], 1).contiguous(), torch.cat([weights, given], 1).contiguous()
