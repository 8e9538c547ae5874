// --precision: the dtype that a model is made in, with or without autocast, and what follows from
// it.
#pragma once

#include <cstdint>

#include "workloads/plan/dtype.hpp"

namespace highwater {

enum class Precision : std::uint8_t {
  fp32,
  bf16,
  fp16,
  amp_bf16,
  amp_fp16,
  bf16_autocast  ///< a model in bf16, under autocast to bf16 nevertheless
};

constexpr bool is_autocast(Precision precision) {
  return precision == Precision::amp_bf16 || precision == Precision::amp_fp16 ||
         precision == Precision::bf16_autocast;
}

/// What attention and matrix products compute in.
constexpr DType compute_dtype(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return DType::fp32;
    case Precision::bf16:
    case Precision::amp_bf16:
    case Precision::bf16_autocast:
      return DType::bf16;
    case Precision::fp16:
    case Precision::amp_fp16:
      return DType::fp16;
  }
  return DType::fp32;
}

/// Of parameters and, without autocast, of everything.
constexpr DType model_dtype(Precision precision) {
  const bool is_wide = is_autocast(precision) && precision != Precision::bf16_autocast;
  return is_wide ? DType::fp32 : compute_dtype(precision);
}

}  // namespace highwater
