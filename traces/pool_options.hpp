// What a private pool allows: the options of torch.cuda.MemPool.
// Source: torch/cuda/memory.py MemPool of PyTorch 2.15; no_split and use_on_oom of struct
// PrivatePool, c10/cuda/CUDACachingAllocator.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace highwater {

struct PoolOptions {
  bool use_on_oom = false;  ///< its free blocks may serve default-pool requests that would fail
  bool no_split = false;    ///< its blocks are never split

  bool operator==(const PoolOptions&) const = default;
};

/// Their words in text traces and annotations.
struct PoolOptionWord {
  std::string_view word;
  bool PoolOptions::*option;
};

inline constexpr std::array<PoolOptionWord, 2> kPoolOptionWords{
    {{"no_split", &PoolOptions::no_split}, {"use_on_oom", &PoolOptions::use_on_oom}}};

/// Sets the option called `word`; false if there is none.
inline bool set_option(std::string_view word, PoolOptions& options) {
  for (const PoolOptionWord& each : kPoolOptionWords) {
    if (each.word == word) {
      options.*each.option = true;
      return true;
    }
  }
  return false;
}

/// " no_split use_on_oom", each behind a space.
inline std::string option_words(PoolOptions options) {
  std::string words;
  for (const PoolOptionWord& each : kPoolOptionWords) {
    if (options.*each.option) {
      words += " ";
      words += each.word;
    }
  }
  return words;
}

/// As Event::value of a pool_begin has them; a pool takes those of its first.
constexpr std::uint64_t value_of(PoolOptions options) {
  return (options.no_split ? 1U : 0U) | (options.use_on_oom ? 2U : 0U);
}

inline constexpr std::uint64_t kMostPoolOptions = 3;

constexpr PoolOptions pool_options_of(std::uint64_t value) {
  return {.use_on_oom = (value & 2U) != 0, .no_split = (value & 1U) != 0};
}

}  // namespace highwater
