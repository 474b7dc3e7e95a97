# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exchange of rows by kernels that write into the memory of other ranks: windows, and what a layer does with them.

A window is memory that the kernels of all ranks reach. SymmetricMemory and IpcMemory make it for processes with a GPU each;
VirtualRanks are ranks of one process on one device. The kernels are those of _one_sided_text.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, TypeVar, cast

import torch

from . import _expert_programs as programs
from . import _one_sided_programs as fused
from . import _one_sided_text as kernels
from ._exchange import Arrived, Exchange, Message, Order
from ._expert_programs import Wire
from ._placement import Placement
from ._torch_layer import MoELayer
from .errors import ArgumentError, DeviceError

__all__ = ["MEMORIES", "OneSidedExchange", "VirtualRank", "VirtualRanks", "finish", "texts_of_rank"]

_T = TypeVar("_T")

_ROLES = {kernels.DISPATCH: "rows", kernels.RETURN: "results"}


@dataclasses.dataclass
class Windows:
    """The windows of a layer: the bytes of that of this rank, and the addresses of all of them, int64 ``[ranks]`` on the
    device. Those of ``every`` rank, and a ``handle`` of them, have to live as long."""

    own: torch.Tensor
    peers: torch.Tensor
    every: list[torch.Tensor]
    handle: Any = None

    def view(self, offset: int, rows: int, width: int) -> torch.Tensor:
        """Bytes ``[rows, width]`` of this rank's window."""
        return _view(self.own, offset, rows, width)


def _view(window: torch.Tensor, offset: int, rows: int, width: int) -> torch.Tensor:
    return window[offset:offset + rows * width].view(rows, width)


class SharedMemory:
    """Windows of the processes of a group. Derived classes make them."""

    def __init__(self, group: Any, device: torch.device):
        self.group, self.device = group, device
        self.ranks, self.rank = torch.distributed.get_world_size(group), torch.distributed.get_rank(group)

    def make(self, size: int) -> tuple[torch.Tensor, Any]:
        """The window of this rank, and what others open it by; waits for nobody."""
        raise NotImplementedError

    def open(self, own: torch.Tensor, made: Sequence[Any]) -> tuple[list[torch.Tensor], Any]:
        """The bytes of the windows of all ranks, ``own`` for this one, by what :meth:`make` gave on each; and a handle of them."""
        raise NotImplementedError

    def allocate(self, size: int) -> Windows:
        """The windows of a layer, of zeros; collective. DeviceError on every rank where one cannot make or open windows, or finds
        that they are not those of the others."""
        own, made = self.agree(lambda: self.make(size))
        of_ranks = self.meet(made)
        every, handle = self.agree(lambda: self._open_marked(own, of_ranks))
        peers = self.agree(lambda: self._check(own, every))
        # Nobody writes into a window that others still look at: all have met.
        return Windows(own, peers, every, handle)

    def _open_marked(self, own: torch.Tensor, made: Sequence[Any]) -> tuple[list[torch.Tensor], Any]:
        found = self.open(own, made)
        own.zero_()
        # Word 8 of a window says whose it is, until the ranks have read that of each other.
        own.view(torch.int64)[8] = self.rank + 1
        if own.is_cuda:
            torch.cuda.synchronize(self.device)
        return found

    def _check(self, own: torch.Tensor, every: Sequence[torch.Tensor]) -> torch.Tensor:
        """The addresses of the windows; DeviceError where one is not that of its rank."""
        said = [int(window[64:72].clone().view(torch.int64).item()) for window in every]
        # The own window by its local address: another one of the same memory would need a fence of its own.
        addresses = [window.data_ptr() for window in every]
        if said != list(range(1, self.ranks + 1)) or addresses[self.rank] != own.data_ptr():
            raise DeviceError(f"expected windows of ranks 1 to {self.ranks}, the own one at {own.data_ptr():#x}, but got {said} at "
                              f"{[hex(each) for each in addresses]}")
        return torch.tensor(addresses, dtype=torch.int64, device=self.device)

    def agree(self, step: Callable[[], _T]) -> _T:
        """The result of a step of this rank; DeviceError on every rank where it fails on one. Collective."""
        result, error = None, None
        try:
            result = step()
        except (RuntimeError, OSError) as caught:
            error = caught
        for rank, failed in enumerate(self.meet(None if error is None else str(error))):
            if failed is not None:
                raise DeviceError(f"rank {rank}: {failed}") from error
        return cast(_T, result)

    def meet(self, said: Any) -> list[Any]:
        """Waits on the host for all ranks; what each says."""
        of_ranks: list[Any] = [None] * self.ranks
        torch.distributed.all_gather_object(of_ranks, said, group=self.group)
        return of_ranks


class SymmetricMemory(SharedMemory):
    """By torch's symmetric memory, without NVLink's multicast. A window outlives the process that made it."""

    def make(self, size: int) -> tuple[torch.Tensor, Any]:
        if self.ranks == 1:
            return torch.zeros(size, dtype=torch.uint8, device=self.device), None
        import torch.distributed._symmetric_memory as symmetric
        os.environ.setdefault("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1")
        # An allocation of its own: tensors of a pool may have the addresses of others (pytorch issue 190977).
        return symmetric._SymmetricMemory.empty_strided_p2p((size,), (1,), torch.uint8, self.device), None

    def open(self, own: torch.Tensor, made: Sequence[Any]) -> tuple[list[torch.Tensor], Any]:
        if self.ranks == 1:
            return [own], None
        import torch.distributed._symmetric_memory as symmetric
        # Collective itself.
        handle = symmetric.rendezvous(own, torch.distributed.group.WORLD if self.group is None else self.group)
        return [handle.get_buffer(rank, (len(own),), torch.uint8) for rank in range(self.ranks)], handle


class IpcMemory(SharedMemory):
    """By CUDA's IPC handles, as torch.multiprocessing sends tensors. A window ends with the process that made it, so a rank that
    dies may be an error of CUDA for others."""

    def make(self, size: int) -> tuple[torch.Tensor, Any]:
        from torch.multiprocessing.reductions import reduce_tensor
        own = torch.zeros(size, dtype=torch.uint8, device=self.device)
        return own, reduce_tensor(own)

    def open(self, own: torch.Tensor, made: Sequence[Any]) -> tuple[list[torch.Tensor], Any]:
        every = [own if rank == self.rank else rebuild(*arguments) for rank, (rebuild, arguments) in enumerate(made)]
        for window in every:
            # torch enables access to the other GPU with its first copy.
            torch.empty(8, dtype=torch.uint8, device=self.device).copy_(window[:8])
        return every, None


#: Back ends of windows by name.
MEMORIES = {"symmetric": SymmetricMemory, "ipc": IpcMemory}


@dataclasses.dataclass(eq=False)
class _VirtualLayer:
    """The descriptions of a layer by virtual ranks, and their windows, by rank."""

    said: dict[int, dict[str, Any]] = dataclasses.field(default_factory=dict)
    windows: dict[int, Any] = dataclasses.field(default_factory=dict)


class VirtualWindows:
    """The windows of a layer of virtual ranks, of which some may have no layer yet."""

    def __init__(self, ranks: VirtualRanks, rank: int, windows: dict[int, Any]):
        self._ranks, self._rank, self._windows = ranks, rank, windows

    @functools.cached_property
    def peers(self) -> torch.Tensor:
        """As of Windows; ArgumentError where a rank has no layer yet."""
        missing = [rank for rank in range(len(self._ranks)) if rank not in self._windows]
        if missing:
            raise ArgumentError(f"expected a layer of every virtual rank before a call, but got none of rank {missing[0]}")
        addresses = [self._ranks.address(self._windows[rank]) for rank in range(len(self._ranks))]
        return torch.tensor(addresses, dtype=torch.int64, device=self._ranks.device)

    def view(self, offset: int, rows: int, width: int) -> torch.Tensor:
        """As of Windows."""
        return _view(self._ranks.bytes_of(self._windows[self._rank]), offset, rows, width)


class VirtualRank:
    """One of :class:`VirtualRanks`, at the place of a process group."""

    def __init__(self, ranks: VirtualRanks, rank: int):
        self.ranks, self.rank = ranks, rank

    def _next(self) -> _VirtualLayer:
        """The first layer that this rank has not made."""
        return next((layer for layer in self.ranks.layers if self.rank not in layer.windows), None) or _VirtualLayer()

    def compare(self, own: dict[str, Any]) -> dict[int, dict[str, Any]]:
        """The descriptions of this rank's next layer by the ranks that have made it, and its own, by rank."""
        self._own = own
        return {**self._next().said, self.rank: own}

    def allocate(self, size: int) -> VirtualWindows:
        """The windows of this rank's next layer, that of :meth:`compare`."""
        layers, layer = self.ranks.layers, self._next()
        layer.windows[self.rank], layer.said[self.rank] = self.ranks.make_window(size), self._own
        if len(layer.windows) == 1:
            layers.append(layer)
        if len(layer.windows) == len(self.ranks):
            layers.remove(layer)
        return VirtualWindows(self.ranks, self.rank, layer.windows)


class VirtualRanks:
    """Ranks of one process on one device, for tests: ``ranks[i]`` is at the place of the group of a layer.

    Calling it with a layer of each rank and the arguments of each computes all of them in one stream, and no rank waits
    while another has work to do. The kernels are those of ranks with a GPU each.
    """

    #: Layers that some ranks have made and others have not, in the order of their making.
    layers: list[_VirtualLayer]

    def __init__(self, ranks: int, device: Any):
        if not 1 <= ranks <= kernels.MOST_RANKS:
            raise ArgumentError(f"expected from 1 to {kernels.MOST_RANKS} ranks, but got {ranks}")
        self.device = torch.device(device)
        self.layers = []
        self._ranks = [VirtualRank(self, rank) for rank in range(ranks)]

    def __len__(self) -> int:
        return len(self._ranks)

    def __getitem__(self, rank: int) -> VirtualRank:
        return self._ranks[rank]

    def make_window(self, size: int) -> Any:
        """Memory of zeros that kernels reach."""
        return torch.zeros(size, dtype=torch.uint8, device=self.device)

    def address(self, window: Any) -> int:
        """Where kernels find it."""
        return window.data_ptr()

    def bytes_of(self, window: Any) -> torch.Tensor:
        """The bytes of a window."""
        return window

    def turn(self, rank: int) -> None:
        """The next kernels are those of this rank."""

    @torch.no_grad()
    def __call__(self, layers: Sequence[Any], arguments: Sequence[Sequence[Any]]) -> list[torch.Tensor]:
        """The results of each rank. The error of the first rank that has one is raised after all have ended."""
        if not len(layers) == len(arguments) == len(self):
            raise ArgumentError(f"expected a layer and arguments of each of {len(self)} ranks, but got {len(layers)} and "
                                f"{len(arguments)}")
        waiting = {rank: layer.steps(*given) for rank, (layer, given) in enumerate(zip(layers, arguments))}
        results: dict[int, torch.Tensor] = {}
        errors = []
        while waiting:
            for rank, steps in list(waiting.items()):
                self.turn(rank)
                try:
                    next(steps)
                except StopIteration as done:
                    results[rank] = done.value
                except ArgumentError as error:
                    errors.append(error)
                else:
                    continue
                del waiting[rank]
        for error in errors:
            raise error
        return [results[rank] for rank in range(len(self))]


def finish(steps: Generator[None, None, torch.Tensor]) -> torch.Tensor:
    """The result of steps between which nobody has to do anything."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return done.value


class _Arrived(Arrived):
    """Messages in the window."""

    plan: _OneSidedPlan

    def take(self, order: Order, sizes: Sequence[int]) -> list[torch.Tensor]:
        return self.plan.fetch(order)[:len(sizes)]

    def sort(self, order: str) -> Order:
        found = super().sort(order)
        self.plan.sorted = found
        return found


class OneSidedExchange(Exchange):
    """Exchanges by kernels, of at most ``max_tokens`` tokens of ``top_k`` slots from each rank, through the windows that
    ``memory`` makes. ``sent`` and ``returned`` are the bytes of a row on its way, by parts."""

    def __init__(self, memory: Any, placement: Placement, rank: int, device: torch.device, max_tokens: int, top_k: int,
                 sent: Sequence[int], returned: Sequence[int], grouped: bool, timeout: float):
        super().__init__(None, placement, rank, device, max_tokens, top_k)
        if placement.ranks > kernels.MOST_RANKS:
            raise ArgumentError(f"expected at most {kernels.MOST_RANKS} ranks with exchange one_sided, but got {placement.ranks}")
        if programs.find_device(torch.empty(0, device=device)) is None:
            raise ArgumentError(f"expected device cuda with exchange one_sided, but got {device}")
        self.top_k, self.returned, self.timeout = top_k, list(returned), timeout
        parts = [*sent, 4 * top_k] if grouped else sent
        self.layout = kernels.Layout(self.ranks, max_tokens, top_k, tuple(parts), tuple(returned), grouped)
        self.windows = memory.allocate(self.layout.size)
        self.codes, self.choices = (torch.from_numpy(each).to(device) for each in placement.codes(rank))
        state = torch.zeros(kernels.STATE_WORDS, dtype=torch.int32)
        state[kernels.RANK] = rank
        self.state = state.to(device)
        self.heard = torch.zeros((self.ranks, 2), dtype=torch.int32, device=device)

    def check(self, tokens: int, top_k: int) -> None:
        if top_k != self.top_k:
            raise ArgumentError(f"expected topk_ids of {self.top_k} slots (top_k) with exchange one_sided, but got {top_k}")
        error = self.explain(self.rank, tokens, 0)
        if error is not None:
            raise error

    def begin(self, message: Message, refusal: ArgumentError | None) -> _OneSidedPlan:  # type: ignore[override]
        return _OneSidedPlan(self, message, refusal)

    @property
    def limit(self) -> int:
        """Nanoseconds of a wait."""
        return int(self.timeout * 1e9)

    def settle(self, refusal: ArgumentError | None) -> None:
        if refusal is not None:
            # The other ranks' entries may be of earlier calls.
            self.heard[self.rank].zero_()
            raise refusal

    def wait(self, role: int, places: torch.Tensor) -> None:
        """Waits on the device for the cells of all ranks."""
        programs.run(kernels.await_text(self.layout, role), [self.state, places], [], [self.windows.peers],
                     (self.limit,))

    def raise_refusals(self) -> None:
        first = kernels.FAILURE
        failed, role, rank, seen, expected, by = self.state.tolist()[first:first + kernels.FAILURE_WORDS]
        if failed and by:
            raise DeviceError(f"rank {self.rank}: expected the {_ROLES[role]} of rank {rank}, but rank {by - 1} has ended the "
                              f"exchange of call {expected}; its error says why, and the layer has to be made anew")
        if failed:
            raise DeviceError(f"rank {self.rank}: expected the {_ROLES[role]} of rank {rank} within {self.timeout} s (timeout), "
                              f"but its cell (byte {self.layout.cells(role) + 8 * rank} of the window) has call {seen} instead of "
                              f"{expected}; the layer has to be made anew")
        refused = self.heard.tolist()
        self.heard.zero_()
        for rank, (tokens, is_refused) in enumerate(refused):
            error = self.explain(rank, tokens, is_refused)
            if error is not None:
                raise error


def texts_of_rank(placement: Placement, rank: int, max_tokens: int, top_k: int, layer: MoELayer, sent: Wire, returned: Wire,
                  out: torch.dtype) -> Iterator[str]:
    """The functions of a rank of :class:`OneSidedExchange` with order ``slot``, rows ``sent`` as products take them, experts in
    int64 and tokens and results of type ``out``, to compile them elsewhere."""
    layout = kernels.Layout(placement.ranks, max_tokens, top_k, sent.sizes, returned.sizes)
    entries = placement.codes(rank)[0].shape
    if sent.is_plain:
        yield kernels.push_text(layout, "i64", entries)
    else:
        yield fused.push_text(layout, sent, programs.ELEMENTS[out], "i64", entries)
    yield fused.experts_text(layout, layer._signature, sent, returned)
    if returned.is_plain:
        yield fused.sum_text(layout, returned, out)
    else:
        yield kernels.await_text(layout, kernels.RETURN)


def _aligned(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor, without gaps and where kernels may read 16 bytes at once."""
    tensor = tensor.contiguous()
    return tensor.clone() if tensor.data_ptr() % 16 else tensor


class _OneSidedPlan:
    """One exchange: rows there, rows back."""

    sorted: Order

    def __init__(self, exchange: OneSidedExchange, message: Message, refusal: ArgumentError | None):
        self.exchange, self.message = exchange, message
        parts = [_aligned(part) for part in message.parts]
        if message.weights is not None:
            parts.append(_aligned(message.weights.view(torch.uint8)))
        ids = _aligned(message.ids)
        self.slots_at = torch.empty(ids.shape, dtype=torch.int32, device=ids.device)
        scalars = [-1 if refusal is None else (message.claimed | kernels.REFUSED) - (1 << 32)]
        layout, element = exchange.layout, programs.ELEMENTS[ids.dtype]
        if message.wire is None:
            text = kernels.push_text(layout, element, tuple(exchange.codes.shape))
        else:
            text = fused.push_text(layout, message.wire, programs.ELEMENTS[parts[0].dtype], element,
                                   tuple(exchange.codes.shape))
            scalars += [] if message.wire.encode is None else [message.wire.encode]
        programs.run(text, [*parts, ids, self.slots_at], [],
                     [exchange.codes, exchange.choices, exchange.windows.peers, exchange.state], scalars)

    def finish(self) -> Arrived:
        """The messages of all ranks, as soon as they are there."""
        exchange, layout = self.exchange, self.exchange.layout
        exchange.wait(kernels.DISPATCH, self.slots_at)
        messages = layout.ranks * layout.tokens
        numbers = torch.empty((messages, layout.slots), dtype=torch.int32, device=exchange.state.device)
        programs.run(kernels.number_text(layout, exchange.local), [numbers, exchange.heard], [],
                     [exchange.windows.peers, exchange.state])
        rows, weights = exchange.windows.view(layout.rows, messages, layout.width), None
        if self.message.weights is not None:
            start = sum(layout.parts[:-1])
            weights = rows[:, start:start + layout.parts[-1]].contiguous().view(torch.float32)
        arrived = _Arrived(rows, numbers, weights, exchange.local, None)
        arrived.plan = self
        return arrived

    def run_experts(self, layer: MoELayer, sent: Wire, returned: Wire) -> None:
        """Waits for rows, and returns those of the products, with order ``slot``; ``sent`` is how products take rows."""
        exchange = self.exchange
        text = fused.experts_text(exchange.layout, layer._signature, sent, returned)
        constants = [layer._buffers[name] for name in layer._names]
        programs.run(text, [exchange.heard, self.slots_at], [], [*constants, exchange.windows.peers, exchange.state],  # type: ignore[list-item]
                     [exchange.limit, *layer._scalars])

    def sum_slots(self, returned: Wire, weights: torch.Tensor, out: torch.dtype) -> torch.Tensor:
        """Waits for results that are not quantised, and sums those of each token in the order of its slots."""
        exchange, layout = self.exchange, self.exchange.layout
        rows = exchange.windows.view(layout.returned, layout.tokens * layout.slots, layout.back_width)
        made = (self.slots_at.shape[0], returned.hidden), out
        return programs.run(fused.sum_text(layout, returned, out),
                            [rows.view(programs.DTYPES[returned.form]), _aligned(weights), exchange.state, self.slots_at], [made],
                            [exchange.windows.peers], [exchange.limit])[0]

    def fetch(self, order: Order) -> list[torch.Tensor]:
        """Parts of rows in the order of their experts."""
        exchange, layout = self.exchange, self.exchange.layout
        made = [torch.empty((order.message.shape[0], size), dtype=torch.uint8, device=order.message.device)
                for size in layout.parts]
        programs.run(kernels.fetch_text(layout, exchange.local), [*made, order.message, order.ends], [],
                     [exchange.windows.peers, exchange.state])
        return made

    def send_back(self, parts: Sequence[torch.Tensor]) -> None:
        """Rows ``[N, size]`` of bytes to the ranks of their tokens: of each slot, or of each message."""
        exchange, layout = self.exchange, self.exchange.layout
        number = torch.arange(len(parts[0]), dtype=torch.int32, device=parts[0].device)
        has_row = (self.sorted.places >= 0).any(1)
        row_of = torch.where(has_row, number, -1).reshape(layout.ranks * layout.tokens, -1)
        programs.run(kernels.give_back_text(layout), [*map(_aligned, parts), row_of], [],
                     [exchange.windows.peers, exchange.state])

    def returned(self) -> list[torch.Tensor]:
        """The rows that have come back to this rank, by parts."""
        exchange, layout = self.exchange, self.exchange.layout
        exchange.wait(kernels.RETURN, self.slots_at)
        rows = exchange.windows.view(layout.returned, layout.tokens * layout.back_slots, layout.back_width)
        return list(rows[:, :sum(layout.back)].split(exchange.returned, 1))

    def places(self, order: str) -> torch.Tensor:
        """As of other plans."""
        if order == "slot":
            return self.slots_at
        exchange = self.exchange
        visits = exchange.visits(exchange.owners(self.message.ids)[1])
        place = torch.arange(visits.shape[0], device=visits.device)[:, None] * exchange.ranks + exchange.all_ranks
        return torch.where(visits < 0, -1, place).int()
