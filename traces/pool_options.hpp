// What a private pool allows: the options of torch.cuda.MemPool, and what a session of it comes
// from. Source: torch/cuda/memory.py MemPool of PyTorch 2.15; no_split and use_on_oom of struct
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

/// Why allocations go to a private pool. PyTorch gives no cached memory back to the device while
/// the calling thread's stream is being captured (is_capture_context, since 2.13).
enum class SessionKind : std::uint8_t {
  routed,   ///< torch.cuda.use_mem_pool and the like
  capture,  ///< they come from streams that a CUDA graph captures
};

/// The word of a capture in text traces, behind the options.
inline constexpr std::string_view kCaptureWord = "capture";

/// As Event::value of a pool_begin has them; a pool takes the options of its first.
constexpr std::uint64_t value_of(PoolOptions options, SessionKind kind = SessionKind::routed) {
  return (options.no_split ? 1U : 0U) | (options.use_on_oom ? 2U : 0U) |
         (kind == SessionKind::capture ? 4U : 0U);
}

inline constexpr std::uint64_t kMostPoolOptions = 7;

constexpr PoolOptions pool_options_of(std::uint64_t value) {
  return {.use_on_oom = (value & 2U) != 0, .no_split = (value & 1U) != 0};
}

constexpr SessionKind session_kind_of(std::uint64_t value) {
  return (value & 4U) != 0 ? SessionKind::capture : SessionKind::routed;
}

}  // namespace highwater
