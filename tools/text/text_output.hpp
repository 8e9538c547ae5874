// Formatted text on its way into a sink, in large pieces.
#pragma once

#include <cstddef>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "traces/formats/bytes/byte_sink.hpp"

namespace highwater {

class TextOutput {
 public:
  /// `sink` must outlive the output; it is not committed.
  explicit TextOutput(ByteSink& sink) : sink_(&sink) {}

  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    if (out_.size() >= kFlushAt) {
      flush();
    }
  }

  void text(std::string_view text) { put("{}", text); }

  /// To be called at the end.
  void flush() {
    sink_->write(std::as_bytes(std::span(out_.data(), out_.size())));
    out_.clear();
  }

 private:
  static constexpr std::size_t kFlushAt = std::size_t{1} << 16;

  ByteSink* sink_;
  fmt::memory_buffer out_;
};

}  // namespace highwater
