# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Facts about memory of peers (run-parallel --facts): times of signals, and bandwidth of copies, by the kernels of peer_facts.ptx."""

import ctypes
import itertools
import pathlib
import statistics

PTX = pathlib.Path(__file__).resolve().parent / "peer_facts.ptx"
#: Bytes of a copy, blocks (no more than one of them on an SM), and bytes of a chunk.
SIZE, BLOCKS, CHUNKS = 64 << 20, (1, 2, 4, 8, 16, 32, 64, 128), (1024, 4096, 16384, 32768)
#: Words of signals before what is copied.
HEAD = 4096
ROUND_TRIPS, BARRIERS, COPIES = 100_000, 1_000_000, 5
STAGES = 4


class Peers(ctypes.Structure):
    _fields_ = [("windows", ctypes.c_uint64 * 8)]


def encode_map(driver, address, chunk):
    """A tensor map of SIZE bytes at an address, u32 [rows][256], whose box is a chunk; RuntimeError where the driver refuses it."""
    storage = ctypes.create_string_buffer(256)
    at = (ctypes.addressof(storage) + 127) // 128 * 128
    u64, u32 = ctypes.c_uint64, ctypes.c_uint32
    # CU_TENSOR_MAP_DATA_TYPE_UINT32, without interleaving, swizzling, promotion or filling.
    driver.check(driver.cuda.cuTensorMapEncodeTiled(ctypes.c_void_p(at), 2, 2, ctypes.c_void_p(address), (u64 * 2)(256, SIZE // 1024),
                                                    (u64 * 1)(1024), (u32 * 2)(256, chunk // 1024), (u32 * 2)(1, 1), 0, 0, 0, 0))
    return ctypes.string_at(at, 128)


def agree(dist, ranks, refusal):
    """The refusal (text, or None) of the first rank that has one, with its rank, on every rank; a collective call."""
    found = [None] * ranks
    dist.all_gather_object(found, refusal)
    return next((f"rank {rank}: {text}" for rank, text in enumerate(found) if text is not None), None)


def measure_copies(dist, ranks, encode, copy, add):
    """Copies by one rank and by all, from a peer and to it, by each kind of access, chunk and number of blocks.

    `encode(direction, kind, chunk)` is the source of a kernel, or RuntimeError; `copy(who, direction, kind, chunk, blocks, source)`
    is a collective call that gives GB/s and whether the copy is right. A source that any rank refuses is copied by no rank.
    """
    for who, direction, kind, chunk in itertools.product(("one", "all"), ("pull", "push"), ("vector", "bulk", "map"), CHUNKS):
        source = refusal = None
        try:
            source = encode(direction, kind, chunk)
        except RuntimeError as error:
            refusal = str(error)
        refusal = agree(dist, ranks, refusal)
        for blocks in BLOCKS:
            case = f"peer_{direction}_{kind}_{who}_b{blocks}_c{chunk}"
            if refusal is not None:
                add(case, "GB/s", refusal=refusal)
            else:
                add(case, "GB/s", *copy(who, direction, kind, chunk, blocks, source))


def record_of(case, metric, value, is_right, refusal):
    """The record of a row. One that the driver refused has a reason, and neither a value nor bits to compare."""
    subject = {"case": case, "subject": "peer memory", "metric": metric}
    return {**subject, "refused": refusal} if refusal is not None else {**subject, "value": round(value, 3), "equal": is_right}


def measure(torch, dist, rank, ranks, memory):
    """Records of results, the same on every rank. Prints a table on rank 0."""
    from driver import Driver, Map
    from nvfp4._one_sided import MEMORIES
    driver, device = Driver(), torch.device("cuda", rank)
    windows = MEMORIES[memory](None, device).allocate(HEAD + 2 * SIZE)
    addresses = windows.peers.tolist()
    if windows.handle is not None and windows.handle.multicast_ptr:
        raise RuntimeError("expected windows without multicast")
    peers = Peers((ctypes.c_uint64 * 8)(*addresses))
    out, u32, u64 = torch.zeros(1, dtype=torch.int64, device=device), ctypes.c_uint32, ctypes.c_uint64
    shared = STAGES * CHUNKS[-1]
    kernels = {name: driver.load(PTX, name, size) for name, size in (("round_trip", 0), ("barrier", 0), ("copy_vector", 0),
                                                                    ("copy_bulk", shared), ("copy_map", shared))}

    def meet():
        torch.cuda.synchronize()
        dist.barrier()
        torch.cuda.synchronize()

    def worst(value):
        value = torch.tensor([value], device=device, dtype=torch.float64)
        dist.all_reduce(value, dist.ReduceOp.MAX)
        return value.item()

    records = []

    def add(case, metric, value=None, is_right=True, refusal=None):
        is_right = not worst(not is_right)
        records.append(record_of(case, metric, value, is_right, refusal))
        if rank == 0:
            found = f"refused ({refusal})" if refusal is not None else f"{value:.3f} {metric}{'' if is_right else ', WRONG'}"
            print(f"{case}: {found}", flush=True)

    for case, name, rounds, arguments in (
            ("peer_round_trip", "round_trip", ROUND_TRIPS, [peers, u32(rank), u32(ROUND_TRIPS)]),
            (f"peer_barrier_r{ranks}", "barrier", BARRIERS, [peers, u32(rank), u32(ranks), u32(BARRIERS)])):
        windows.own[:HEAD].zero_()
        meet()
        driver.launch(kernels[name], 1, 32, 0, [*arguments, u64(out.data_ptr())], False)
        meet()
        # Rank 0 has a time of either.
        taken = out.clone()
        dist.broadcast(taken, 0)
        add(case, "us", taken.item() / rounds / 1000)
    # A window has a part that is read and one that is written. The written part of each rank is its own, so any rank may be the peer.
    source, target = HEAD, HEAD + SIZE
    pattern = torch.arange(SIZE // 4, dtype=torch.int32, device=device)
    windows.own[source:target].view(torch.int32).copy_(pattern + rank)
    other, pushed_by = (rank + 1) % ranks, (rank - 1) % ranks

    def encode(direction, kind, chunk):
        begin = addresses[other if direction == "pull" else rank] + source
        return Map(encode_map(driver, begin, chunk)) if kind == "map" else u64(begin)

    def copy(who, direction, kind, chunk, blocks, given):
        is_pull = direction == "pull"
        end = addresses[rank if is_pull else other] + target
        threads, size = (512, 0) if kind == "vector" else (32, STAGES * chunk)
        windows.own[target:].zero_()
        meet()
        times = []
        for _ in range(COPIES if who == "all" or rank == 0 else 0):
            first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            first.record()
            driver.launch(kernels[f"copy_{kind}"], blocks, threads, size, [given, u64(end), u64(SIZE), u32(chunk)], False)
            last.record()
            torch.cuda.synchronize()
            times.append(first.elapsed_time(last))
        meet()
        # The rank that owns the target compares it: the rank that pulls, or the next one of the rank that pushes.
        copied = who == "all" or (rank if is_pull else pushed_by) == 0
        wanted = pattern + (other if is_pull else pushed_by)
        is_right = not copied or torch.equal(windows.own[target:].view(torch.int32), wanted)
        slowest = worst(statistics.median(times) if times else 0.0)
        return SIZE / slowest / 1e6, is_right

    measure_copies(dist, ranks, encode, copy, add)
    return records
