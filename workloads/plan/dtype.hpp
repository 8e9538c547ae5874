// Element types of tensors and their sizes.
#pragma once

#include <cstdint>
#include <string_view>

namespace highwater {

enum class DType : std::uint8_t {
  fp32,
  bf16,
  fp16,
  fp64,
  fp8,  ///< float8_e4m3fn and float8_e5m2
  int64,
  int32,
  uint8,
  boolean,
  complex64
};

/// Bytes of one element.
constexpr std::int64_t item_size(DType type) {
  switch (type) {
    case DType::fp32:
    case DType::int32:
      return 4;
    case DType::bf16:
    case DType::fp16:
      return 2;
    case DType::fp64:
    case DType::int64:
    case DType::complex64:
      return 8;
    case DType::fp8:
    case DType::uint8:
    case DType::boolean:
      return 1;
  }
  return 0;
}

constexpr bool is_floating_point(DType type) {
  return type == DType::fp32 || type == DType::bf16 || type == DType::fp16;
}

constexpr bool is_low_precision(DType type) {
  return type == DType::bf16 || type == DType::fp16;
}

/// "float32", "bfloat16", ...: torch's names.
constexpr std::string_view to_string(DType type) {
  switch (type) {
    case DType::fp32:
      return "float32";
    case DType::bf16:
      return "bfloat16";
    case DType::fp16:
      return "float16";
    case DType::fp64:
      return "float64";
    case DType::fp8:
      return "float8";
    case DType::int64:
      return "int64";
    case DType::int32:
      return "int32";
    case DType::uint8:
      return "uint8";
    case DType::boolean:
      return "bool";
    case DType::complex64:
      return "complex64";
  }
  return "";
}

}  // namespace highwater
