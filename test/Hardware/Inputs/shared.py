# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Atomics, matrix moves, mbarriers, cp.async, bulk copies, clusters."""

import zlib

import numpy as np

from device import Case
from lanewise import HEADER, values_of


def wait(label, parity=0, bar="%bar"):
    """Waits for a phase, though not for ever."""
    return f"""
  mov.u32 %n, 0;
{label}:
  add.u32 %n, %n, 1;
  setp.gt.u32 %w, %n, 2000000;
  @%w bra {label}_end;
  mbarrier.try_wait.parity.shared.b64 %w, [{bar}], {parity};
  @!%w bra {label};
{label}_end:"""


# Makes one mbarrier and shows it, and the bytes of shared memory, to all.
READY = """
  setp.ne.u32 %p, %me, 0;
  @%p bra made;
  mbarrier.init.shared.b64 [%bar], 1;
  fence.mbarrier_init.release.cluster;
made:
  fence.proxy.async;
  bar.sync 0;"""
CLUSTER = """
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;"""


def shared_case(group, name, body, size=1024, inputs=(), results=0, threads=32,
                grid=1, cluster=0, extra=(), maps=(), outputs=(), fill=None):
    """A kernel around `body`. Shared memory (`size` bytes at %sm, then room for
    mbarriers at %bar) starts with random bytes and is an output, as are
    %r0..%r<results> of each thread. %a0… are `inputs`, kinds of operands;
    %g0… are the addresses of `extra` buffers, those in `outputs` are results;
    %m0… are tensor maps."""
    rng = np.random.default_rng(zlib.crc32(f"{group} {name}".encode()))
    total = threads * grid
    start = rng.integers(0, 256, size * grid, dtype=np.uint8) \
        if fill is None else fill(rng)
    buffers = [start, np.zeros(size * grid, np.uint8),
               np.zeros(max(1, results) * total, "<u4")]
    inputs = list(inputs)
    for i, kind in enumerate(inputs):
        buffers.append(values_of(kind, total, i, 2, rng).astype("<u4"))
    first = len(buffers)
    buffers += list(extra)
    params = [f".param .u64 p{i}" for i in range(len(buffers))]
    params += [f".param .align 64 .b8 q{i}[128]" for i in range(len(maps))]
    lines = [HEADER, ".extern .shared .align 1024 .b8 memory[];",
             f".visible .entry k({', '.join(params)})\n{{",
             "  .reg .pred %p, %q, %w;", "  .reg .b16 %h<8>;",
             "  .reg .b32 %sm, %bar, %me, %rank, %gid, %n, %i, %x;",
             "  .reg .b32 %t<32>, %a<8>;", f"  .reg .b32 %r<{results + 1}>;",
             "  .reg .b64 %addr, %u<16>, %g<8>, %m<4>;",
             "  mov.u32 %sm, memory;", f"  add.u32 %bar, %sm, {size};",
             "  mov.u32 %me, %tid.x;", "  mov.u32 %rank, %cluster_ctarank;",
             "  mov.u32 %x, %ctaid.x;",
             f"  mad.lo.u32 %gid, %x, {threads}, %me;"]
    for i in range(len(inputs)):
        lines += [f"  ld.param.u64 %addr, [p{3 + i}];",
                  "  mad.wide.u32 %addr, %gid, 4, %addr;",
                  f"  ld.global.b32 %a{i}, [%addr];"]
    for i in range(len(extra)):
        lines.append(f"  ld.param.u64 %g{i}, [p{first + i}];")
    for i in range(len(maps)):
        lines += [f"  mov.b64 %m{i}, q{i};", f"  cvta.param.u64 %m{i}, %m{i};"]
    for i in range(results):
        lines.append(f"  mov.b32 %r{i}, 0;")

    def copy(param, load):
        move = ["ld.global.b32 %t1, [%addr];", "st.shared.b32 [%t0], %t1;"] \
            if load else ["ld.shared.b32 %t1, [%t0];",
                          "st.global.b32 [%addr], %t1;"]
        label = "load" if load else "store"
        return [f"  ld.param.u64 %u0, [p{param}];",
                f"  mad.wide.u32 %u0, %x, {size}, %u0;",
                "  shl.b32 %i, %me, 2;", f"{label}:",
                "  add.u32 %t0, %sm, %i;", "  cvt.u64.u32 %u1, %i;",
                "  add.u64 %addr, %u0, %u1;", "  " + move[0], "  " + move[1],
                f"  add.u32 %i, %i, {4 * threads};",
                f"  setp.lt.u32 %p, %i, {size};", f"  @%p bra {label};"]

    lines += copy(0, True) + ["  bar.sync 0;", body, "  bar.sync 0;"]
    if cluster:
        lines.append(CLUSTER)
    for i in range(results):
        lines += ["  ld.param.u64 %addr, [p2];",
                  f"  mad.wide.u32 %addr, %gid, {4 * results}, %addr;",
                  f"  st.global.b32 [%addr+{4 * i}], %r{i};"]
    lines += copy(1, False) + ["  ret;", "}", ""]
    for spec in maps:
        spec.buffer += first
    return Case(group, name, "\n".join(lines), buffers,
                [1, 2] + [first + i for i in outputs], grid=grid, block=threads,
                cluster=cluster, shared=size + 64, maps=list(maps))


def atomics():
    types = {"u32": 4, "s32": 4, "u64": 8, "s64": 8, "f32": 4, "f64": 8,
             "b32": 4, "b64": 8, "f16": 2, "bf16": 2, "f16x2": 4, "bf16x2": 4}
    ops = [("add", "u32 s32 u64 f32 f64 f16 f16x2 bf16 bf16x2"),
           ("min", "u32 s32 u64 s64"), ("max", "u32 s32 u64 s64"),
           ("and", "b32 b64"), ("or", "b32 b64"), ("xor", "b32 b64"),
           ("exch", "b32 b64"), ("inc", "u32"), ("dec", "u32"),
           ("cas", "b32 b64")]

    def start(kind):
        def make(rng):
            codes = values_of(kind.replace("b32", "u32").replace("b64", "u64")
                              if kind[:2] != "bf" else kind, 4096, 0, 2, rng)
            # Every 8 bytes one element, where the thread finds it.
            return codes.astype("<u8").view(np.uint8)
        return make

    for op, kinds in ops:
        for kind in kinds.split():
            wide = types[kind] == 8
            half = types[kind] == 2
            rnd = ".noftz" if op == "add" and "16" in kind else ""
            for space in ("shared", "global"):
                for form in ("atom", "red"):
                    if form == "red" and op in ("exch", "cas"):
                        continue
                    reg = "%u5" if wide else "%h0" if half else "%t5"
                    value = "%u4" if wide else "%h1" if half else "%t4"
                    body = ("mov.b64 %u4, {%a0, %a1};\n  mov.b32 %t4, %a0;\n"
                            "  cvt.u16.u32 %h1, %a0;\n"
                            "  shl.b32 %t6, %gid, 3;\n  and.b32 %t6, %t6, 1016;\n")
                    if space == "shared":
                        body += "  add.u32 %t6, %sm, %t6;\n"
                        where = "%t6"
                    else:
                        body += ("  cvt.u64.u32 %u6, %gid;\n"
                                 "  mad.lo.u64 %u6, %u6, 8, %g0;\n")
                        where = "%u6"
                    if op == "cas":
                        # Half of them find what they compare with.
                        body += (f"  ld.{space}.b{64 if wide else 32} "
                                 f"{'%u7' if wide else '%t7'}, [{where}];\n"
                                 "  and.b32 %t8, %gid, 1;\n")
                        body += "  cvt.u64.u32 %u8, %t8;\n  xor.b64 %u7, %u7, %u8;\n" \
                            if wide else "  xor.b32 %t7, %t7, %t8;\n"
                    parts = f"{form}.relaxed.cta.{space}.{op}{rnd}.{kind}" \
                        if space == "shared" else \
                        f"{form}.{space}.{op}{rnd}.{kind}"
                    args = [reg] if form == "atom" else []
                    args.append(f"[{where}]")
                    if op == "cas":
                        args.append("%u7" if wide else "%t7")
                    args.append(value)
                    body += f"  {parts} {', '.join(args)};\n"
                    if form == "atom":
                        body += "  mov.b64 {%r0, %r1}, %u5;" if wide else \
                            "  cvt.u32.u16 %r0, %h0;" if half else \
                            "  mov.b32 %r0, %t5;"
                    operand = {"f16": "f16", "bf16": "bf16"}.get(kind, kind)
                    operand = "u32" if wide or kind[:2] in ("b3",) else operand
                    extra = [start(kind)(np.random.default_rng(7))] \
                        if space == "global" else []
                    yield shared_case(
                        "atomics", f"{form}.{space}.{op}.{kind}", body,
                        inputs=[operand, "u32"], results=2, threads=128,
                        grid=1 if space == "shared" else 8, extra=extra,
                        outputs=[0] if extra else [],
                        fill=(lambda rng, kind=kind: start(kind)(rng)[:1024])
                        if space == "shared" else None)
    # Not inc and dec, whose result depends on the order.
    for op, kind in (("add", "u32"), ("max", "s32"), ("xor", "b32"),
                     ("min", "u32"), ("or", "b32")):
        yield shared_case(
            "atomics", f"contended red.shared.{op}.{kind}",
            "and.b32 %t0, %me, 7;\n  shl.b32 %t0, %t0, 2;\n"
            f"  add.u32 %t0, %sm, %t0;\n  red.shared.{op}.{kind} [%t0], %a0;",
            inputs=["u32"], threads=256)
    for kind, count in (("f32", 2), ("f32", 4), ("f16x2", 4), ("bf16x2", 2)):
        regs = ", ".join(f"%a{i}" for i in range(count))
        rnd = "" if kind == "f32" else ".noftz"
        kinds = [kind] * count
        start_codes = values_of(kind, 4096, 0, 2, np.random.default_rng(3))
        yield shared_case(
            "atomics", f"red.global.add.v{count}.{kind}",
            "cvt.u64.u32 %u4, %gid;\n  mad.lo.u64 %u4, %u4, 16, %g0;\n"
            f"  red.relaxed.gpu.global.add{rnd}.v{count}.{kind} [%u4], "
            f"{{{regs}}};", inputs=kinds, threads=128, grid=8,
            extra=[start_codes.astype("<u4")], outputs=[0])


def matrices():
    where = ("shl.b32 %t0, %a0, 4;\n  and.b32 %t0, %t0, 1008;\n"
             "  add.u32 %t0, %sm, %t0;\n  ")
    rows = ("shl.b32 %t0, %me, 4;\n  xor.b32 %t0, %t0, 0x150;\n"
            "  add.u32 %t0, %sm, %t0;\n  ")
    for count in (1, 2, 4):
        for trans in ("", ".trans"):
            regs = ", ".join(f"%r{i}" for i in range(count))
            yield shared_case(
                "matrix moves", f"ldmatrix.x{count}{trans}", where +
                f"ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 "
                f"{{{regs}}}, [%t0];", inputs=["u32"], results=count)
            regs = ", ".join(f"%a{i}" for i in range(count))
            yield shared_case(
                "matrix moves", f"stmatrix.x{count}{trans}", rows +
                f"stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 "
                f"[%t0], {{{regs}}};", inputs=["u32"] * count)
    yield shared_case("matrix moves", "movmatrix",
                      "movmatrix.sync.aligned.m8n8.trans.b16 %r0, %a0;",
                      inputs=["u32"], results=1)


def barriers():
    show = lambda i: (f"  mbarrier.pending_count.b64 %r{i}, %u1;\n")
    test = lambda i, parity: (
        f"  mbarrier.test_wait.parity.shared.b64 %w, [%bar], {parity};\n"
        f"  selp.b32 %r{i}, 1, 0, %w;\n")
    only = "setp.ne.u32 %p, %me, 0;\n  @%p bra done;\n"
    body = only + "  mbarrier.init.shared.b64 [%bar], 5;\n" + test(0, 0) + \
        test(1, 1) + "  mbarrier.arrive.shared.b64 %u1, [%bar];\n" + show(2) + \
        "  mbarrier.arrive.shared.b64 %u1, [%bar], 2;\n" + show(3) + \
        "  mbarrier.arrive.expect_tx.shared.b64 %u1, [%bar], 96;\n" + show(4) + \
        "  mbarrier.arrive.shared.b64 %u1, [%bar];\n" + show(5) + test(6, 0) + \
        "  mbarrier.complete_tx.shared::cta.relaxed.cta.b64 [%bar], 64;\n" + \
        test(7, 0) + \
        "  mbarrier.complete_tx.shared::cta.relaxed.cta.b64 [%bar], 32;\n" + \
        test(8, 0) + test(9, 1) + \
        "  mbarrier.arrive_drop.shared.b64 %u1, [%bar];\n" + show(10) + \
        "  mbarrier.arrive.shared.b64 %u1, [%bar], 4;\n" + show(11) + \
        test(12, 1) + "  mbarrier.arrive.shared.b64 %u1, [%bar];\n" + show(13) + \
        "  mbarrier.test_wait.shared.b64 %w, [%bar], %u1;\n" + \
        "  selp.b32 %r14, 1, 0, %w;\n" + test(15, 0) + "done:"
    yield shared_case("mbarrier", "counts and phases", body, results=16)
    body = only + "  mbarrier.init.shared.b64 [%bar], 1;\n" + \
        "  mbarrier.complete_tx.shared::cta.relaxed.cta.b64 [%bar], 48;\n" + \
        test(0, 0) + "  mbarrier.expect_tx.relaxed.cta.shared.b64 [%bar], 80;\n" + \
        "  mbarrier.arrive.shared.b64 %u1, [%bar];\n" + show(1) + test(2, 0) + \
        "  mbarrier.complete_tx.shared::cta.relaxed.cta.b64 [%bar], 32;\n" + \
        test(3, 0) + test(4, 1) + "done:"
    yield shared_case("mbarrier", "completion before expectation", body,
                      results=5)
    for count in (1, 2, 63, (1 << 20) - 1):
        body = only + f"  mbarrier.init.shared.b64 [%bar], {count};\n" + \
            "  mbarrier.arrive.shared.b64 %u1, [%bar];\n" + show(0) + test(1, 0) + \
            "  mbarrier.arrive.noComplete.shared.b64 %u1, [%bar], 1;\n" * \
            (count > 2) + show(2) + test(3, 0) + "done:"
        yield shared_case("mbarrier", f"init {count}", body, results=4)


def copies():
    source = np.random.default_rng(5).integers(0, 256, 4096, dtype=np.uint8)
    for kind, size in (("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16)):
        for form in ("", "size", "ignore"):
            body = (f"mul.lo.u32 %t0, %me, {size};\n  add.u32 %t1, %sm, %t0;\n"
                    f"  xor.b32 %t0, %t0, {5 * size};\n"
                    "  cvt.u64.u32 %u0, %t0;\n  add.u64 %u0, %u0, %g0;\n"
                    f"  and.b32 %t2, %me, {size - 1};\n"
                    "  setp.eq.u32 %p, %t2, 0;\n")
            last = {"": "", "size": ", %t2", "ignore": ", %p"}[form]
            body += (f"  cp.async.{kind}.shared.global [%t1], [%u0], {size}{last};"
                     "\n  cp.async.commit_group;\n  cp.async.wait_group 0;")
            yield shared_case("cp.async", f"{kind} {size} {form}".strip(), body,
                              extra=[source])
    head = READY + "\n  @%p bra done;\n"
    tail = "\ndone:" + wait("loop")
    for size in (16, 48, 512):
        yield shared_case(
            "bulk", f"global to shared, {size} bytes", head +
            f"  mbarrier.arrive.expect_tx.shared.b64 _, [%bar], {size};\n"
            "  add.u32 %t1, %sm, 32;\n  add.u64 %u0, %g0, 80;\n"
            "  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
            f" [%t1], [%u0], {size}, [%bar];" + tail, extra=[source])
        yield shared_case(
            "bulk", f"shared to global, {size} bytes", head +
            "  add.u32 %t1, %sm, 32;\n  add.u64 %u0, %g0, 80;\n"
            "  cp.async.bulk.global.shared::cta.bulk_group "
            f"[%u0], [%t1], {size};\n  cp.async.bulk.commit_group;\n"
            "  cp.async.bulk.wait_group 0;\ndone:", extra=[source], outputs=[0])
    reductions = [("add", "u32 s32 u64 f32 f64 f16 bf16"),
                  ("min", "u32 s32 u64 s64 f16 bf16"),
                  ("max", "u32 s32 u64 s64 f16 bf16"), ("and", "b32 b64"),
                  ("or", "b32 b64"), ("xor", "b32 b64"), ("inc", "u32"),
                  ("dec", "u32")]

    def codes(kind, position, seed):
        rng = np.random.default_rng(seed)
        name = {"b32": "u32", "b64": "u64"}.get(kind, kind)
        width = 2 if "16" in kind else 8 if "64" in kind else 4
        return values_of(name, 1024 // width, position, 2, rng) \
            .astype(f"<u{width}").view(np.uint8)

    for op, kinds in reductions:
        for kind in kinds.split():
            rnd = ".noftz" if op == "add" and "16" in kind else ""
            yield shared_case(
                "bulk reduce", f"global {op}.{kind}", head +
                f"  cp.reduce.async.bulk.global.shared::cta.bulk_group.{op}{rnd}"
                f".{kind} [%g0], [%sm], 1024;\n  cp.async.bulk.commit_group;\n"
                "  cp.async.bulk.wait_group 0;\ndone:",
                fill=lambda rng, kind=kind: codes(kind, 0, 1),
                extra=[codes(kind, 1, 2)], outputs=[0])
    peer = READY + CLUSTER + "\n  @%p bra done;\n  xor.b32 %t0, %rank, 1;\n" \
        "  mapa.shared::cluster.u32 %t1, %sm, %t0;\n" \
        "  mapa.shared::cluster.u32 %t2, %bar, %t0;\n" \
        "  mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 256;\n"
    yield shared_case(
        "cluster", "bulk copy to the other CTA", peer +
        "  add.u32 %t1, %t1, 512;\n  cp.async.bulk.shared::cluster.shared::cta"
        ".mbarrier::complete_tx::bytes [%t1], [%sm], 256, [%t2];" + tail,
        grid=4, cluster=2)
    for op in ("add.u32", "add.s32", "add.u64", "min.s32", "max.u32", "inc.u32",
               "dec.u32", "and.b32", "or.b32", "xor.b32"):
        yield shared_case(
            "cluster", f"bulk reduction {op} into the other CTA", peer +
            "  add.u32 %t1, %t1, 512;\n  cp.reduce.async.bulk.shared::cluster"
            f".shared::cta.mbarrier::complete_tx::bytes.{op} [%t1], [%sm], 256, "
            "[%t2];" + tail, grid=2, cluster=2)
    for mask in (1, 2, 3):
        one = "" if mask == 3 else f"  setp.eq.u32 %q, %rank, {2 - mask};\n" \
            "  @%q bra issue;\n"
        yield shared_case(
            "cluster", f"bulk multicast to {mask}", READY + CLUSTER +
            f"\n  @%p bra done;\n{one}"
            "  mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 512;\nissue:\n"
            "  setp.ne.u32 %q, %rank, 0;\n  @%q bra done;\n"
            f"  mov.u16 %h0, {mask};\n"
            "  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
            ".multicast::cluster [%sm], [%g0], 512, [%bar], %h0;\ndone:" + (
                "" if mask == 3 else
                f"\n  setp.eq.u32 %q, %rank, {2 - mask};\n  @%q bra over;") +
            wait("loop") + "\nover:", grid=2, cluster=2, extra=[source])
    around = CLUSTER + "\n  xor.b32 %t0, %rank, 1;\n" \
        "  mapa.shared::cluster.u32 %t1, %sm, %t0;\n" \
        "  shl.b32 %t2, %me, 2;\n  add.u32 %t1, %t1, %t2;\n"
    yield shared_case("cluster", "ld.shared::cluster", around +
                      "  ld.shared::cluster.b32 %r0, [%t1];", results=1, grid=4,
                      cluster=2)
    yield shared_case("cluster", "st.shared::cluster", around +
                      "  st.shared::cluster.b32 [%t1+256], %a0;" + CLUSTER,
                      inputs=["u32"], grid=4, cluster=2)
    for op in ("add.u32", "min.s32", "exch.b32", "xor.b32"):
        yield shared_case("cluster", f"atom.shared::cluster.{op}", around +
                          f"  atom.shared::cluster.{op} %r0, [%t1], %a0;" +
                          CLUSTER, inputs=["u32"], results=1, grid=2, cluster=2)
    names = ("cluster_ctarank", "cluster_nctarank", "cluster_ctaid.x",
             "cluster_nctaid.x", "clusterid.x", "nclusterid.x", "ctaid.x",
             "nctaid.x")
    yield shared_case("cluster", "special registers", "\n".join(
        f"  mov.u32 %r{i}, %{name};" for i, name in enumerate(names)),
        results=len(names), grid=6, cluster=2)


def all_cases():
    for family in (atomics, matrices, barriers, copies):
        yield from family()
