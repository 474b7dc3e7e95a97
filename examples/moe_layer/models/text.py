# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The layer of a model in MLIR: a function for each stage, and `layer`, which calls them all.

  norm -> router -> route -> sort -> gather (rows in expert order, quantised where the model does so)
       -> gate_up -> down -> combine, beside shared (the shared expert) -> add (the residual)

Stages between the products of experts are those of ../layer.mlir; norm, router, shared and add are upstream's linalg.
"""

import typing

DIALECT = "grouped_scaled_gemm"


class Stage(typing.NamedTuple):
    """A function: names and types of what it takes and gives, and its text."""

    arguments: list
    results: list
    text: str


def _generic(result, maps, iterators, operands, outs, body):
    """linalg.generic; `operands` and `outs` are names and types, `body` is of %a, %b, ... and %out to its yield."""
    dims = ", ".join(dict.fromkeys("".join(maps)))
    affine = ", ".join(f"affine_map<({dims}) -> ({', '.join(each)})>" for each in maps)
    names, types = ", ".join(name for name, _ in operands), ", ".join(type for _, type in operands)
    elements = [type.rstrip(">").split("x")[-1] for _, type in (*operands, outs)]
    arguments = ", ".join(f"%{name}: {element}" for name, element in zip([*"abcdefg"[:len(operands)], "out"], elements))
    return f"""  {result} = linalg.generic {{indexing_maps = [{affine}],
      iterator_types = [{', '.join(f'"{each}"' for each in iterators)}]}}
      ins({names} : {types}) outs({outs[0]} : {outs[1]}) {{
  ^bb0({arguments}):
{body}
  }} -> {outs[1]}
"""


class ModelText:
    """The text for a :class:`sizes.Model`. ``layout`` is that of the weights: linear, or wgmma for kernels of sm_90a,
    which read gate and up rows in runs of 32 where the model has halves."""

    def __init__(self, model, layout="linear"):
        m = self.model = model
        self.x, self.sums = f"tensor<?x{m.hidden}xbf16>", f"tensor<?x{m.hidden}xf32>"
        self.logits, self.ends = f"tensor<?x{m.experts}xf32>", f"tensor<{m.experts}xi32>"
        self.slots, self.scores = f"tensor<?x{m.top_k}xi32>", f"tensor<?x{m.top_k}xf32>"
        self.is_plain = m.rows == "bf16"
        suffix = "" if layout == "linear" else f", {layout}"
        self.gate = m.gate_run or ("halves" if layout == "linear" else 32)
        self.act = self.x if self.is_plain else "!act"
        self.glu = f"tensor<?x{m.width}xbf16>" if self.is_plain else "!glu"
        #: Arguments beside x, in the order of `layer`: names of MLIR and of arrays, and types.
        constants = [("gain", "norm", f"tensor<{m.hidden}xf32>"), ("router", "router", f"tensor<{m.experts}x{m.hidden}xbf16>")]
        if m.bias:
            constants.append(("router_bias", "router.bias", f"tensor<{m.experts}xf32>"))
        if m.routing == "deepseek_v3":
            constants.append(("correction", "correction", f"tensor<{m.experts}xf32>"))
        for name, rows in (("w13", 2 * m.width), ("w2", m.hidden)):
            constants.append((name, name, f"!{name}"))
            if m.weights == "nvfp4":
                constants.append((f"alpha_{name}", f"{name}.alpha", f"tensor<{m.experts}{'x2' if name == 'w13' else ''}xf32>"))
            if m.bias:
                constants.append((f"bias_{name}", f"{name}.bias", f"tensor<{m.experts}x{rows}xbf16>"))
            if not self.is_plain:
                constants.append((f"encode_{name}", f"{name}.encode", "tensor<1xf32>"))
        if m.shared:
            for name, rows, columns in (("gate", m.shared, m.hidden), ("up", m.shared, m.hidden), ("down", m.hidden, m.shared)):
                constants.append((f"shared_{name}", f"shared.{name}", f"tensor<{rows}x{columns}xbf16>"))
        self.constants = {name: (array, type) for name, array, type in constants}
        self.types = [f"!w13 = !{DIALECT}.scaled<{m.experts}x{2 * m.width}x{m.hidden}, {m.weights}{suffix}>",
                      f"!w2 = !{DIALECT}.scaled<{m.experts}x{m.hidden}x{m.width}, {m.weights}{suffix}>"]
        if not self.is_plain:
            self.types += [f"!{name} = !{DIALECT}.scaled<?x{columns}, {m.rows}>" for name, columns in
                           (("act", m.hidden), ("glu", m.width))]
        self.stages = {}
        for write in (self._norm, self._router, self._route, self._sort, self._gather, self._gate_up, self._down, self._combine,
                      *([self._shared] if m.shared else []), self._add):
            write()

    def _function(self, name, arguments, results, body, values):
        """A stage: `arguments` are names of tokens' values with their types, or of constants alone."""
        arguments = [each if isinstance(each, tuple) else (each, self.constants[each][1]) for each in arguments
                     if isinstance(each, tuple) or each in self.constants]
        header = ", ".join(f"%{argument}: {type}" for argument, type in arguments)
        shown = ", ".join(type for _, type in results)
        self.stages[name] = Stage(arguments, results, f"""func.func @{name}({header}) -> ({shown}) {{
  %c0 = arith.constant 0 : index
{body.strip(chr(10))}
  return {values} : {shown}
}}
""")

    def _clause(self, keyword, name):
        return f"\n      {keyword}(%{name} : {self.constants[name][1]})" if name in self.constants else ""

    def _norm(self):
        m, row = self.model, "tensor<?xf32>"
        square = """    %wide = arith.extf %a : bf16 to f32
    %square = arith.mulf %wide, %wide : f32
    %sum = arith.addf %out, %square : f32
    linalg.yield %sum : f32"""
        scale = f"""    %mean_factor = arith.constant {1 / m.hidden:.17e} : f32
    %epsilon = arith.constant {m.epsilon:e} : f32
    %mean = arith.mulf %b, %mean_factor : f32
    %positive = arith.addf %mean, %epsilon : f32
    %inverse = math.rsqrt %positive : f32
    %wide = arith.extf %a : bf16 to f32
    %normed = arith.mulf %wide, %inverse : f32
    %scaled = arith.mulf %normed, %c : f32
    %narrow = arith.truncf %scaled : f32 to bf16
    linalg.yield %narrow : bf16"""
        self._function("norm", [("x", self.x), "gain"], [("normed", self.x)], f"""
  %zero = arith.constant 0.0 : f32
  %tokens = tensor.dim %x, %c0 : {self.x}
  %row = tensor.empty(%tokens) : {row}
  %zeros = linalg.fill ins(%zero : f32) outs(%row : {row}) -> {row}
""" + _generic("%squares", ["tk", "t"], ["parallel", "reduction"], [("%x", self.x)], ("%zeros", row), square) +
            f"  %empty = tensor.empty(%tokens) : {self.x}\n" +
            _generic("%normed", ["tk", "t", "k", "tk"], ["parallel", "parallel"],
                     [("%x", self.x), ("%squares", row), ("%gain", self.constants["gain"][1])], ("%empty", self.x), scale),
            "%normed")

    def _matmul(self, result, x, x_type, w, out, out_type):
        return f"""  {result} = linalg.matmul
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins({x}, %{w} : {x_type}, {self.constants[w][1]}) outs({out} : {out_type}) -> {out_type}
"""

    def _router(self):
        if self.model.bias:
            start = _generic("%start", ["e", "te"], ["parallel", "parallel"],
                             [("%router_bias", self.constants["router_bias"][1])], ("%empty", self.logits), "    linalg.yield %a : f32")
        else:
            start = f"""  %zero = arith.constant 0.0 : f32
  %start = linalg.fill ins(%zero : f32) outs(%empty : {self.logits}) -> {self.logits}
"""
        self._function("router", [("normed", self.x), "router", "router_bias"], [("logits", self.logits)], f"""
  %tokens = tensor.dim %normed, %c0 : {self.x}
  %empty = tensor.empty(%tokens) : {self.logits}
{start}""" + self._matmul("%logits", "%normed", self.x, "router", "%start", self.logits), "%logits")

    def _route(self):
        m = self.model
        attributes = ""
        if m.routing == "deepseek_v3":
            attributes = (f" {{n_group = {m.groups} : i64, topk_group = {m.group_choices} : i64, "
                          f"routed_scaling = {m.scaling:e} : f32}}")
        self._function("route", [("logits", self.logits), "correction"], [("weights", self.scores), ("experts", self.slots)], f"""
  %tokens = tensor.dim %logits, %c0 : {self.logits}
  %w = tensor.empty(%tokens) : {self.scores}
  %e = tensor.empty(%tokens) : {self.slots}
  %weights, %experts = {DIALECT}.route {m.routing} (%logits : {self.logits}){self._clause("bias", "correction")}
      outs(%w, %e : {self.scores}, {self.slots}){attributes} -> {self.scores}, {self.slots}
""", "%weights, %experts")

    def _sort(self):
        rows = "tensor<?xi32>"
        types = f"{self.ends}, {rows}, {self.slots}"
        self._function("sort", [("experts", self.slots)], [("ends", self.ends), ("token_of_row", rows), ("row_of_slot", self.slots)], f"""
  %choices = arith.constant {self.model.top_k} : index
  %tokens = tensor.dim %experts, %c0 : {self.slots}
  %rows = arith.muli %tokens, %choices : index
  %e = tensor.empty() : {self.ends}
  %t = tensor.empty(%rows) : {rows}
  %r = tensor.empty(%tokens) : {self.slots}
  %ends, %token_of_row, %row_of_slot = {DIALECT}.sort_tokens(%experts : {self.slots})
      outs(%e, %t, %r : {types}) -> {types}
""", "%ends, %token_of_row, %row_of_slot")

    def _gather(self):
        quantize = ""
        if not self.is_plain:
            quantize = f"""
  %scale = tensor.extract %encode_w13[%c0] : tensor<1xf32>
  %rows = {DIALECT}.quantize <trtllm>(%moved : {self.x}) global_scale(%scale : f32) -> !act"""
        self._function("gather", [("normed", self.x), ("token_of_row", "tensor<?xi32>"), "encode_w13"], [("rows", self.act)], f"""
  %count = tensor.dim %token_of_row, %c0 : tensor<?xi32>
  %empty = tensor.empty(%count) : {self.x}
  %{"moved" if quantize else "rows"} = {DIALECT}.permute(%normed : {self.x}) by(%token_of_row : tensor<?xi32>)
      outs(%empty : {self.x}) -> {self.x}{quantize}""", "%rows")

    def _product(self, result, lhs, lhs_type, weights, rest):
        return f"""  {result} = {DIALECT}.matmul <ragged_rows, ends> groups(%ends : {self.ends})
      lhs(%{lhs} : {lhs_type}) rhs(%{weights} : !{weights}){self._clause("alpha", f"alpha_{weights}")}\
{self._clause("bias", f"bias_{weights}")}
      {rest}"""

    def _gate_up(self):
        m = self.model
        parameters = "".join(f", {name} = {getattr(m, name):e}" for name, usual in
                             (("alpha", 1.0), ("beta", 0.0), ("limit", float("inf"))) if getattr(m, name) != usual)
        activation = f"activation = <swiglu, gate = <{self.gate}, gate_first>{parameters}>"
        fast = f"{{math = #{DIALECT}<math fast>}}"
        if self.is_plain:
            before = f"""
  %count = tensor.dim %rows, %c0 : {self.x}
  %empty = tensor.empty(%count) : {self.glu}
"""
            rest = f"{activation} outs(%empty : {self.glu}) {fast} -> {self.glu}"
        else:
            before = "\n  %scale = tensor.extract %encode_w2[%c0] : tensor<1xf32>\n"
            rest = f"{activation}\n      quantizer = <trtllm> global_scale(%scale : f32) {fast} -> !glu"
        self._function("gate_up", [("rows", self.act), ("ends", self.ends), "w13", "alpha_w13", "bias_w13", "encode_w2"],
                       [("glu", self.glu)], before + self._product("%glu", "rows", self.act, "w13", rest), "%glu")

    def _down(self):
        self._function("down", [("glu", self.glu), ("token_of_row", "tensor<?xi32>"), ("ends", self.ends), "w2", "alpha_w2", "bias_w2"],
                       [("y", self.x)], f"""
  %count = tensor.dim %token_of_row, %c0 : tensor<?xi32>
  %empty = tensor.empty(%count) : {self.x}
""" + self._product("%y", "glu", self.glu, "w2", f"outs(%empty : {self.x}) -> {self.x}"), "%y")

    def _combine(self):
        self._function("combine", [("y", self.x), ("row_of_slot", self.slots), ("weights", self.scores)], [("routed", self.sums)], f"""
  %tokens = tensor.dim %weights, %c0 : {self.scores}
  %empty = tensor.empty(%tokens) : {self.sums}
  %routed = {DIALECT}.combine(%y : {self.x}) by(%row_of_slot : {self.slots}) weights(%weights : {self.scores})
      outs(%empty : {self.sums}) -> {self.sums}
""", "%routed")

    def _shared(self):
        m = self.model
        wide, narrow = f"tensor<?x{m.shared}xf32>", f"tensor<?x{m.shared}xbf16>"
        silu = """    %one = arith.constant 1.0 : f32
    %minus = arith.negf %a : f32
    %power = math.exp %minus : f32
    %above = arith.addf %power, %one : f32
    %active = arith.divf %a, %above : f32
    %both = arith.mulf %active, %b : f32
    %narrow = arith.truncf %both : f32 to bf16
    linalg.yield %narrow : bf16"""
        body = f"""
  %zero = arith.constant 0.0 : f32
  %tokens = tensor.dim %normed, %c0 : {self.x}
  %w = tensor.empty(%tokens) : {wide}
  %zeros = linalg.fill ins(%zero : f32) outs(%w : {wide}) -> {wide}
{self._matmul("%gate", "%normed", self.x, "shared_gate", "%zeros", wide)}{self._matmul("%up", "%normed", self.x, "shared_up", "%zeros", wide)}\
  %n = tensor.empty(%tokens) : {narrow}
"""
        body += _generic("%both", ["tk", "tk", "tk"], ["parallel", "parallel"], [("%gate", wide), ("%up", wide)], ("%n", narrow), silu)
        body += f"""  %s = tensor.empty(%tokens) : {self.sums}
  %start = linalg.fill ins(%zero : f32) outs(%s : {self.sums}) -> {self.sums}
""" + self._matmul("%shared", "%both", narrow, "shared_down", "%start", self.sums)
        self._function("shared", [("normed", self.x), "shared_gate", "shared_up", "shared_down"], [("shared", self.sums)], body, "%shared")

    def _add(self):
        terms = [("routed", self.sums)] + ([("shared", self.sums)] if self.model.shared else [])
        more = "    %all = arith.addf %b, %c : f32\n" if self.model.shared else ""
        body = f"""    %wide = arith.extf %a : bf16 to f32
{more}    %sum = arith.addf %wide, %{"all" if more else "b"} : f32
    %narrow = arith.truncf %sum : f32 to bf16
    linalg.yield %narrow : bf16"""
        self._function("add", [("x", self.x), *terms], [("result", self.x)], f"""
  %tokens = tensor.dim %x, %c0 : {self.x}
  %empty = tensor.empty(%tokens) : {self.x}
""" + _generic("%result", ["tk"] * (len(terms) + 2), ["parallel", "parallel"],
               [("%x", self.x), *((f"%{name}", type) for name, type in terms)], ("%empty", self.x), body), "%result")

    def _flat(self, names):
        """Names of arrays: block-scaled tensors are two."""
        for name, type in names:
            array = self.constants[name][0] if name in self.constants else name
            yield from (f"{array}.values", f"{array}.scales") if type.startswith("!") else (array,)

    def inputs(self, stage):
        """The names of the arrays that a stage, or `layer`, takes, in order."""
        if stage == "layer":
            return list(self._flat([("x", self.x), *((name, type) for name, (_, type) in self.constants.items())]))
        return list(self._flat(self.stages[stage].arguments))

    def outputs(self, stage):
        """The names of its results."""
        return ["layer"] if stage == "layer" else list(self._flat(self.stages[stage].results))

    def text(self):
        """The module."""
        header = ", ".join([f"%x: {self.x}", *(f"%{name}: {type}" for name, (_, type) in self.constants.items())])
        calls = ""
        for name, stage in self.stages.items():
            names = [", ".join(f"%{each}" for each, _ in values) for values in (stage.results, stage.arguments)]
            types = [", ".join(type for _, type in values) for values in (stage.results, stage.arguments)]
            calls += f"  {names[0]} = call @{name}({names[1]})\n      : ({types[1]}) -> ({types[0]})\n"
        functions = "\n".join(stage.text for stage in self.stages.values())
        return "\n".join(self.types) + f"""

{functions}
// The whole layer.
func.func @layer({header}) -> {self.x} {{
{calls}  return %result : {self.x}
}}
"""
