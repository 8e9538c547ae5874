// The messages that are known, as workloads/facts/out_of_memory.json has them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/messages/message_pattern.hpp"

namespace highwater {

/// From the first release to the last one that prints a text; empty: not known, or still printed.
struct ReleaseSpan {
  std::string_view since;
  std::string_view until;
};

/// A message with the figures of a caching allocator.
struct AllocatorFormat {
  std::string_view name;
  ReleaseSpan releases;
  MessagePattern pattern;
};

/// What follows a message and names the release more closely.
struct MessageHint {
  MessagePattern pattern;
  ReleaseSpan releases;
};

/// A message without such figures.
struct OtherFormat {
  std::string_view name;
  std::string_view memory;   ///< whose memory ran out: "GPU" or "host"
  std::string_view verdict;  ///< with {name} where a value stands
  std::vector<std::string_view> helps;
  MessagePattern pattern;
};

struct MessageFacts {
  std::vector<AllocatorFormat> allocator;
  std::vector<MessageHint> hints;
  std::vector<OtherFormat> others;
};

/// Read once; it lives as long as the program.
const MessageFacts& message_facts();

}  // namespace highwater
