// A request trace as its text, by which targets compare two of them.
#pragma once

#include <cstddef>
#include <vector>

#include "traces/formats/bytes/byte_sink.hpp"
#include "traces/formats/text/text_trace.hpp"

namespace highwater::fuzz {

inline std::vector<std::byte> text_form(const RequestTrace& trace) {
  MemorySink sink;
  write_text_trace(trace, sink);
  return sink.bytes();
}

}  // namespace highwater::fuzz
