//===- TensorConversion.h - Tensors of files and of the reference ---------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversion between the tensors that files and targets use (bytes of a data
// type) and the interpreter's.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_REFERENCE_TENSORCONVERSION_H
#define NVFP4_REFERENCE_TENSORCONVERSION_H

#include "nvfp4/Reference/Value.h"
#include "nvfp4/TensorIO/Tensor.h"

namespace nvfp4::reference {

/// A tensor of the interpreter with elements of type `element`, with bounds of
/// zero. The data type must be the same; u8 and i8 data stand for every 8-bit
/// type, and unsigned integers for signed ones of their width.
llvm::Expected<Tensor> fromTensorIO(const tensorio::Tensor &tensor,
                                    Element element);

/// The values, rounded to the element type; bounds are dropped.
llvm::Expected<tensorio::Tensor> toTensorIO(const Tensor &tensor);

} // namespace nvfp4::reference

#endif // NVFP4_REFERENCE_TENSORCONVERSION_H
