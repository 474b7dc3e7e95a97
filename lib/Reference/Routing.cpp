//===- Routing.cpp - Choice of experts --------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `route` for each method. Experts are ordered by the score that the method
// ranks by: the logits where the function that follows is monotone, and sigmoid
// plus bias, rounded to f32, for the biased methods. Ties go to the lower
// index; NaN ranks below everything. Masked experts rank as -infinity, so that
// a negative biased score of an open group beats them.
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace nvfp4::reference {
namespace {

using gsg::RoutingMethod;
constexpr Element F32 = Element::F32;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kUlps = 4.0;

Real sigmoid(Real x) {
  double s = 1.0 / (1.0 + std::exp(-x.value));
  double relative =
      ((1.0 - s) * (std::fabs(x.value) + 2.0 * kUlps) + 2.0) * 0x1p-24;
  double bound = s * (1.0 - s) * x.bound + 0.1 * x.bound * x.bound;
  return finishInexact(F32, {s, bound + s * relative + 0x1p-126}, 0.5);
}

/// softmax over `x`; bounds by relative error.
std::vector<Real> softmax(llvm::ArrayRef<Real> x) {
  double largest = -kInfinity, inputBound = 0.0;
  for (Real r : x) {
    largest = std::max(largest, r.value);
    inputBound = std::max(inputBound, r.bound);
  }
  double sum = 0.0, weighted = 0.0;
  for (Real r : x) {
    double e = std::exp(r.value - largest);
    sum += e;
    if (e > 0)
      weighted += e * std::fabs(r.value - largest);
  }
  std::vector<Real> result;
  for (Real r : x) {
    double p = std::exp(r.value - largest) / sum;
    double distance = p > 0 ? std::fabs(r.value - largest) : 0.0;
    double steps = distance + weighted / sum + 4.0 * kUlps +
                   static_cast<double>(x.size()) + 4.0;
    double relative = steps * 0x1p-24 + 2.0 * inputBound;
    result.push_back(finishInexact(F32, {p, p * relative + 0x1p-126}, 0.5));
  }
  return result;
}

/// Divides by the sum plus 1e-20 and multiplies by `scale`.
void renormalise(std::vector<Real> &weights, float scale) {
  Real sum;
  for (Real w : weights)
    sum = add(F32, sum, w);
  // The order of a sum of positive numbers is open: once more its rounding.
  sum.bound += static_cast<double>(weights.size()) * 0x1p-24 * sum.value;
  sum = add(F32, sum, {roundTo(F32, 1e-20), 0.0});
  for (Real &w : weights) {
    w = divide(F32, w, sum);
    if (scale != 1.0f)
      w = multiply(F32, w, {scale, 0.0});
    w = finishInexact(F32, w, 1.0);
  }
}

/// The indices of the `k` largest, in decreasing order, lower index first.
std::vector<int64_t> largest(llvm::ArrayRef<double> scores, int64_t k) {
  std::vector<int64_t> order(scores.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    double x = scores[static_cast<size_t>(a)];
    double y = scores[static_cast<size_t>(b)];
    if (std::isnan(x) || std::isnan(y))
      return std::isnan(x) == std::isnan(y) ? a < b : std::isnan(y);
    return x != y ? x > y : a < b;
  });
  order.resize(static_cast<size_t>(k));
  return order;
}

/// Sets the scores of experts outside the best groups to -infinity.
void maskGroups(std::vector<double> &scores, int64_t groups, int64_t keep) {
  auto size = static_cast<int64_t>(scores.size()) / groups;
  std::vector<double> sums;
  for (int64_t g = 0; g < groups; ++g) {
    llvm::ArrayRef<double> part(scores.data() + g * size,
                                static_cast<size_t>(size));
    double sum = 0.0;
    for (int64_t i : largest(part, std::min<int64_t>(2, size)))
      sum = roundTo(F32, sum + part[static_cast<size_t>(i)]);
    sums.push_back(sum);
  }
  std::vector<bool> open(static_cast<size_t>(groups));
  for (int64_t g : largest(sums, keep))
    open[static_cast<size_t>(g)] = true;
  for (size_t i = 0; i < scores.size(); ++i)
    if (!open[i / static_cast<size_t>(size)])
      scores[i] = -kInfinity;
}

} // namespace

llvm::Error Evaluator::evaluateRoute(gsg::RouteOp op) {
  if (op->getNumResults() != 2)
    return errorAt(op, "expected tensors, but got memrefs");
  const Tensor &logits = tensor(op.getLogits());
  Tensor weightsOut = tensor(op.getWeightsOut());
  Tensor expertsOut = tensor(op.getExpertsOut());
  RoutingMethod method = op.getMethod();
  // route_c1, route_c2
  if (logits.rank() != 2 || weightsOut.rank() != 2 ||
      weightsOut.shape() != expertsOut.shape() ||
      weightsOut.dim(0) != logits.dim(0))
    return errorAt(op, "expected logits [T, E] and destinations [T, top_k], "
                       "but got " +
                           logits.describe() + " and " + weightsOut.describe());
  int64_t experts = logits.dim(1), k = weightsOut.dim(1);
  bool biased =
      method == RoutingMethod::DeepSeekV3 || method == RoutingMethod::MiniMax2;
  int64_t groups = method == RoutingMethod::DeepSeekV3
                       ? static_cast<int64_t>(op.getNGroup())
                       : 1;
  int64_t keep = method == RoutingMethod::DeepSeekV3
                     ? static_cast<int64_t>(op.getTopkGroup())
                     : 1;
  // route_c7, route_c8
  if (groups < 1 || experts % groups != 0 || keep < 1 || keep > groups)
    return errorAt(op, "expected n_group to divide " + llvm::Twine(experts) +
                           " experts and topk_group in [1, n_group], but got " +
                           llvm::Twine(groups) + " and " + llvm::Twine(keep));
  // route_c3, route_c9
  if (k > experts / groups * keep)
    return errorAt(op, "expected top_k of at most " +
                           llvm::Twine(experts / groups * keep) + ", but got " +
                           llvm::Twine(k));
  // route_c6
  if (method == RoutingMethod::Llama4 && k != 1)
    return errorAt(op,
                   "expected top_k = 1 for llama4, but got " + llvm::Twine(k));
  const Tensor *bias = op.getBias() ? &tensor(op.getBias()) : nullptr;
  // route_c10
  if (bias && bias->numElements() != experts)
    return errorAt(op, "expected a bias of " + llvm::Twine(experts) +
                           " entries, but got " + bias->describe());
  for (int64_t t = 0; t < logits.dim(0); ++t) {
    std::vector<Real> row;
    std::vector<double> scores;
    for (int64_t e = 0; e < experts; ++e) {
      row.push_back(logits.real(t * experts + e));
      double score = row.back().value;
      if (biased) {
        score = roundTo(F32, sigmoid(row.back()).value);
        if (bias)
          score = roundTo(F32, score + bias->real(e).value);
      }
      scores.push_back(score);
    }
    if (groups > 1)
      maskGroups(scores, groups, keep);
    std::vector<int64_t> chosen = largest(scores, k);
    std::vector<Real> weights;
    std::vector<Real> all;
    if (method == RoutingMethod::Default)
      all = softmax(row);
    for (int64_t e : chosen) {
      Real logit = row[static_cast<size_t>(e)];
      switch (method) {
      case RoutingMethod::Default:
        weights.push_back(all[static_cast<size_t>(e)]);
        break;
      case RoutingMethod::Renormalize:
      case RoutingMethod::TopK:
        weights.push_back(convert(F32, logit));
        break;
      case RoutingMethod::Sigmoid:
      case RoutingMethod::TopKSigmoid:
      case RoutingMethod::SigmoidRenorm:
      case RoutingMethod::Llama4:
      case RoutingMethod::DeepSeekV3:
      case RoutingMethod::MiniMax2:
        weights.push_back(sigmoid(logit));
        break;
      }
    }
    if (method == RoutingMethod::Renormalize)
      weights = softmax(weights);
    if (method == RoutingMethod::SigmoidRenorm)
      renormalise(weights, 1.0f);
    if (biased)
      renormalise(weights, method == RoutingMethod::DeepSeekV3
                               ? op.getRoutedScaling().convertToFloat()
                               : 1.0f);
    for (int64_t s = 0; s < k; ++s) {
      weightsOut.setReal(t * k + s, weights[static_cast<size_t>(s)]);
      expertsOut.set(t * k + s,
                     Scalar::ofInteger(expertsOut.element(),
                                       chosen[static_cast<size_t>(s)]));
    }
  }
  setResults(op, {std::move(weightsOut), std::move(expertsOut)});
  return llvm::Error::success();
}

} // namespace nvfp4::reference
