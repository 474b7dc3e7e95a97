# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The exchange of rows between the ranks of a process group, by collectives of torch.

A message is one row of bytes for each token and rank that it visits: the number of the expert of each slot (i32, negative
where the slot goes elsewhere), the weights (f32) where the rank of the experts needs them, and from the next multiple of 16
bytes the parts of the row. Exchange sends as many messages as there are, after their counts; StaticExchange sends a fixed number
and never waits for the device.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist

from ._expert_programs import Wire, sort_slots
from ._placement import Placement
from .errors import ArgumentError

__all__ = ["Arrived", "Exchange", "Message", "Order", "StaticExchange"]


@dataclasses.dataclass
class Message:
    """The tokens of a rank: parts ``[T, size]`` of bytes, experts ``[T, k]``, and weights ``[T, k]`` or None. ``claimed``
    is T of the call, which differs where the rank refused it and has no tokens. With a ``wire`` the exchange quantises the
    one part, numbers ``[T, hidden]``."""

    parts: list[torch.Tensor]
    ids: torch.Tensor
    weights: torch.Tensor | None
    claimed: int
    wire: Wire | None = None


@dataclasses.dataclass
class Order:
    """Rows in the order of their experts: ``message`` is that of each row (-1 behind the last of them), ``ends`` are those of
    experts, and row n to send back sums the rows at ``places[n]`` with ``weights[n]``."""

    message: torch.Tensor
    ends: torch.Tensor
    places: torch.Tensor
    weights: torch.Tensor


@dataclasses.dataclass
class Arrived:
    """Messages ``[N, width]`` on the rank of their experts, ``numbers`` ``[N, k]`` int32 of its own ``count`` experts (-1
    where a slot goes elsewhere), and how many slots are its own where the host knows."""

    rows: torch.Tensor
    numbers: torch.Tensor
    weights: torch.Tensor | None
    count: int
    slots: int | None

    def split(self, sizes: Sequence[int]) -> list[torch.Tensor]:
        """The parts of each message."""
        ends = [sum(sizes[:i + 1]) for i in range(len(sizes))]
        return [self.rows[:, end - size:end] for size, end in zip(sizes, ends)]

    def take(self, order: Order, sizes: Sequence[int]) -> list[torch.Tensor]:
        """The parts of rows in the order of their experts."""
        return [part[order.message] for part in self.split(sizes)]

    def sort(self, order: str) -> Order:
        """A stable order of the slots by expert. With order ``slot`` each slot is a row to send back, else each message."""
        ends, message, place = sort_slots(self.numbers, self.count)
        if order != "slot":
            assert self.weights is not None
            return Order(message[:self.slots], ends, place, self.weights)
        places = place.reshape(-1, 1)
        if self.slots is not None:
            # The slots of this rank in their order.
            places = places[(place.flatten() < 0).byte().argsort(stable=True)[:self.slots]]
        return Order(message[:self.slots], ends, places, torch.ones_like(places, dtype=torch.float32))


class Exchange:
    """Exchanges of the tokens of a rank, whose counts go before them."""

    def __init__(self, group: Any, placement: Placement, rank: int, device: torch.device, max_tokens: int | None,
                 top_k: int | None):
        self.group, self.rank, self.ranks, self.max_tokens = group, rank, placement.ranks, max_tokens
        self.count, self.local = len(placement.table), len(placement.local[rank])
        self.numbers = placement.numbers(rank).to(device)
        self.table, self.copies = (each.to(device) for each in placement.choices(rank))
        self.all_ranks = torch.arange(self.ranks, device=device)
        self.no_counts = torch.zeros((1, 2), dtype=torch.int32, device=device)

    def check(self, tokens: int, top_k: int) -> None:
        """ArgumentError for calls that this rank must refuse by itself."""

    def owners(self, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The expert of each slot (E: none) and the rank that it goes to (the number of ranks: none), ``[T, k]``."""
        known = ids.long()
        known = torch.where((known < 0) | (known > self.count), self.count, known)
        if self.table.shape[1] == 1:
            return known, self.table.flatten()[known]
        token = torch.arange(ids.shape[0], device=ids.device)[:, None] + self.rank
        return known, self.table[known, token % self.copies[known]]

    def visits(self, owner: torch.Tensor) -> torch.Tensor:
        """``[T, R]`` int32: the number of each rank that a token visits, and -1 where it does not."""
        is_visited = (owner[:, None] == self.all_ranks[None, :, None]).any(2)
        return torch.where(is_visited, self.all_ranks, -1).int()

    def begin(self, message: Message, refusal: ArgumentError | None) -> _Plan:
        """Sends counts, waits for those of others, and starts to send the messages."""
        plan = _Plan(self, message)
        plan.begin(refusal)
        return plan

    def settle(self, refusal: ArgumentError | None) -> None:
        """Ends a call: raises the error of this rank, or of another one where the host knows it."""

    def raise_refusals(self) -> None:
        """Waits for the device, and raises the error of a rank in calls so far."""

    def explain(self, rank: int, tokens: int, refused: int) -> ArgumentError | None:
        """The error of a rank, if it has one."""
        if self.max_tokens is not None and tokens > self.max_tokens:
            return ArgumentError(f"expected at most {self.max_tokens} tokens (max_tokens) on every rank, but got {tokens} on "
                                 f"rank {rank}")
        if refused:
            return ArgumentError(f"expected arguments that go together on every rank, but rank {rank} refused its own")
        return None


def pad_columns(ids: torch.Tensor, columns: int) -> torch.Tensor:
    """More slots, which go nowhere."""
    return torch.nn.functional.pad(ids, (0, columns - ids.shape[1]), value=-1)


def pack_messages(ids: torch.Tensor, weights: torch.Tensor | None, parts: Sequence[torch.Tensor]) -> torch.Tensor:
    """Messages ``[N, width]``, whose width is a multiple of 16."""
    head = [ids] if weights is None else [ids, weights]
    flat = [each.contiguous().view(torch.uint8) for each in head]
    flat.append(_padding(flat))
    flat += [part.contiguous() for part in parts]
    return torch.cat([*flat, _padding(flat)], 1)


def _padding(parts: Sequence[torch.Tensor]) -> torch.Tensor:
    return parts[0].new_zeros((parts[0].shape[0], -sum(part.shape[1] for part in parts) % 16))


def unpack_head(rows: torch.Tensor, slots: int, weights: bool) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor]:
    """Experts, weights and parts of messages."""
    width = 4 * slots
    ids = rows[:, :width].contiguous().view(torch.int32)
    found = rows[:, width:2 * width].contiguous().view(torch.float32) if weights else None
    size = width * (2 if weights else 1)
    return ids, found, rows[:, size + -size % 16:]


class _Plan:
    """One exchange: messages there, rows back."""

    def __init__(self, exchange: Exchange, message: Message):
        self.exchange, self.message = exchange, message
        self.ids, self.owner = exchange.owners(message.ids)
        ranks = exchange.ranks
        slot_ends, _, self.slots_at = sort_slots(torch.where(self.owner == ranks, -1, self.owner).int(), ranks)
        row_ends, self.token, self.rows_at = sort_slots(exchange.visits(self.owner), ranks)
        #: Rows and slots for each rank, [R, 2].
        self.counts = torch.stack([row_ends, slot_ends], 1).diff(dim=0, prepend=exchange.no_counts)

    def begin(self, refusal: ArgumentError | None) -> None:
        exchange, message = self.exchange, self.message
        constants = [self.counts.new_full((exchange.ranks, 1), value)
                     for value in (message.claimed, message.ids.shape[1], int(refusal is not None))]
        sent = torch.cat([self.counts, *constants], 1)
        received = torch.empty_like(sent)
        dist.all_to_all_single(received, sent, group=exchange.group)
        # The one wait for the device: how much to receive.
        out, come = torch.stack([sent, received]).tolist()
        for rank, (_, _, of_rank, _, refused) in enumerate(come):
            error = exchange.explain(rank, of_rank, refused)
            if error is not None:
                raise refusal or error
        self.out_rows, self.in_rows = ([each[0] for each in counts] for counts in (out, come))
        self.out_slots, self.in_slots = ([each[1] for each in counts] for counts in (out, come))
        self.top_k = max(each[3] for each in come)
        self._send()

    def _send(self) -> None:
        message, count = self.message, sum(self.out_rows)
        token = self.token[:count]
        rank = torch.repeat_interleave(self.exchange.all_ranks, self.counts[:, 0], output_size=count)
        ids = torch.where(self.owner[token] == rank[:, None], self.ids[token], -1).int()
        weights = None if message.weights is None else pad_columns(message.weights[token], self.top_k)
        outgoing = pack_messages(pad_columns(ids, self.top_k), weights, [part[token] for part in message.parts])
        self.incoming = outgoing.new_empty((sum(self.in_rows), outgoing.shape[1]))
        self.work = dist.all_to_all_single(self.incoming, outgoing, self.in_rows, self.out_rows, group=self.exchange.group,
                                           async_op=True)
        self.outgoing = outgoing  # until the work is done

    def finish(self) -> Arrived:
        """The messages of all ranks, as soon as they are there."""
        self.work.wait()
        ids, weights, rows = unpack_head(self.incoming, self.top_k, self.message.weights is not None)
        numbers = self.exchange.numbers[torch.where(ids < 0, self.exchange.count, ids)]
        return Arrived(rows, numbers, weights, self.exchange.local, sum(self.in_slots))

    def send_back(self, parts: Sequence[torch.Tensor]) -> None:
        """Rows ``[N, size]`` of bytes to the ranks of their tokens."""
        grouped = self.message.weights is not None
        there, here = (self.in_rows, self.out_rows) if grouped else (self.in_slots, self.out_slots)
        outgoing = parts[0] if len(parts) == 1 else torch.cat(list(parts), 1)
        result = outgoing.new_empty((sum(here), outgoing.shape[1]))
        dist.all_to_all_single(result, outgoing, here, there, group=self.exchange.group)
        self.result = list(result.split([part.shape[1] for part in parts], 1))

    def returned(self) -> list[torch.Tensor]:
        """The rows that have come back to this rank, by parts."""
        return self.result

    def places(self, order: str) -> torch.Tensor:
        """Where the rows of each token are in what came back: ``[T, k]`` by slot, or ``[T, R]`` by rank; -1 is none."""
        return self.slots_at if order == "slot" else self.rows_at


class StaticExchange(Exchange):
    """Exchanges of buffers for ``max_tokens`` tokens of ``top_k`` slots from each rank to each."""

    def __init__(self, group: Any, placement: Placement, rank: int, device: torch.device, max_tokens: int | None,
                 top_k: int | None):
        super().__init__(group, placement, rank, device, max_tokens, top_k)
        self.tokens, self.top_k = max_tokens or 0, top_k or 0
        #: The largest T of each rank, and whether it refused its arguments, in all calls so far.
        self.seen = torch.zeros((self.ranks, 2), dtype=torch.int32, device=device)
        #: Whether calls raise what ``seen`` says; a GPU would have to be waited for.
        self.is_seen = not self.seen.is_cuda

    def check(self, tokens: int, top_k: int) -> None:
        if top_k != self.top_k:
            raise ArgumentError(f"expected topk_ids of {self.top_k} slots (top_k) with static, but got {top_k}")
        error = self.explain(self.rank, tokens, 0)
        if error is not None:
            raise error

    def begin(self, message: Message, refusal: ArgumentError | None) -> _StaticPlan:  # type: ignore[override]
        return _StaticPlan(self, message, refusal)

    def settle(self, refusal: ArgumentError | None) -> None:
        if refusal is not None:
            # All rows are of this call if earlier ones have raised theirs.
            (self.seen if self.is_seen else self.seen[self.rank]).zero_()
            raise refusal
        if self.is_seen:
            self.raise_refusals()

    def raise_refusals(self) -> None:
        refused = self.seen.tolist()
        self.seen.zero_()
        for rank, (tokens, is_refused) in enumerate(refused):
            error = self.explain(rank, tokens, is_refused)
            if error is not None:
                raise error


class _StaticPlan:
    """One exchange of buffers of one size."""

    def __init__(self, exchange: StaticExchange, message: Message, refusal: ArgumentError | None):
        self.exchange, self.message = exchange, message
        tokens, count = message.ids.shape[0], exchange.count
        ids, self.owner = exchange.owners(message.ids)
        # The rank and the expert in one number.
        codes = torch.where(self.owner == exchange.ranks, -1, self.owner * count + ids).int()
        packed = pack_messages(codes, message.weights, message.parts)
        outgoing = packed.new_zeros((exchange.tokens + 1, packed.shape[1]))
        outgoing[:tokens] = packed
        # Codes of rows without a token are -1; the row behind them says what others have to know.
        outgoing[tokens:-1, :4 * exchange.top_k] = 0xFF
        said = [torch.full((1,), value, dtype=torch.int32, device=packed.device)
                for value in (message.claimed, int(refusal is not None))]
        outgoing[-1, :8] = torch.cat(said).view(torch.uint8)
        self.gathered = packed.new_empty((exchange.ranks * len(outgoing), packed.shape[1]))
        dist.all_gather_into_tensor(self.gathered, outgoing, group=exchange.group)
        self.gathered = self.gathered.reshape(exchange.ranks, len(outgoing), -1)
        heard = self.gathered[:, -1, :8].contiguous().view(torch.int32)
        torch.maximum(exchange.seen, heard, out=exchange.seen)

    def finish(self) -> Arrived:
        """The messages of all ranks."""
        exchange = self.exchange
        rows = self.gathered[:, :-1].reshape(-1, self.gathered.shape[2])
        codes, weights, rows = unpack_head(rows, exchange.top_k, self.message.weights is not None)
        is_here = (codes >= 0) & (codes // exchange.count == exchange.rank)
        ids = torch.where(is_here, codes % exchange.count, exchange.count)
        return Arrived(rows, exchange.numbers[ids], weights, exchange.local, None)

    def send_back(self, parts: Sequence[torch.Tensor]) -> None:
        """Rows ``[R * N, size]`` of bytes to the ranks of their tokens."""
        outgoing = parts[0] if len(parts) == 1 else torch.cat(list(parts), 1)
        result = torch.empty_like(outgoing)
        dist.all_to_all_single(result, outgoing, group=self.exchange.group)
        self.result = list(result.split([part.shape[1] for part in parts], 1))

    def returned(self) -> list[torch.Tensor]:
        """The rows that have come back to this rank, by parts."""
        return self.result

    def places(self, order: str) -> torch.Tensor:
        """As of a plan with counts."""
        exchange, (tokens, slots) = self.exchange, self.owner.shape
        if order == "slot":
            place = torch.arange(tokens * slots, device=self.owner.device).reshape(tokens, slots)
            place = place + self.owner * (exchange.tokens * slots)
            return torch.where(self.owner == exchange.ranks, -1, place).int()
        place = torch.arange(tokens, device=self.owner.device)[:, None] + exchange.all_ranks * exchange.tokens
        return torch.where(exchange.visits(self.owner) < 0, -1, place).int()
