// Messages of an error out of memory in a log, with the figures that they name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/messages/log_text.hpp"
#include "tools/messages/message_facts.hpp"
#include "tools/messages/printed_size.hpp"

namespace highwater {

/// A process that NVML lists beside this one, or this one itself: within a container a process does
/// not know its number outside of it.
struct ListedProcess {
  std::string number;
  PrintedSize in_use;
};

/// What a caching allocator says about itself and the device.
struct MessageFigures {
  std::optional<PrintedSize> asked;  ///< the segment that the device refused
  std::optional<PrintedSize> total;  ///< of the device
  std::optional<PrintedSize> free;   ///< on the device
  std::optional<PrintedSize> allocated;
  std::optional<PrintedSize> unallocated;  ///< reserved without allocated
  std::optional<PrintedSize> reserved;
  std::optional<PrintedSize> allowed;        ///< by a memory fraction
  std::optional<PrintedSize> private_pools;  ///< free blocks in them
  std::optional<PrintedSize> in_use;         ///< by this process, with what is outside PyTorch
  std::vector<ListedProcess> processes;

  /// Reserved, as it is printed or as the sum of its parts.
  [[nodiscard]] std::optional<SizeRange> reserved_range() const;
};

struct OomMessage {
  std::size_t line = 0;   ///< of the first one, from 1
  std::size_t times = 1;  ///< the same text of the same rank
  std::optional<int> rank;
  std::string text;
  std::string_view name;  ///< "caching allocator", "vLLM"
  std::string backend;    ///< "CUDA", "HIP"; empty: not known
  std::optional<int> device;
  ReleaseSpan releases;
  MessageFigures figures;
  const OtherFormat* other = nullptr;  ///< of a message without such figures
  std::string other_verdict;           ///< its sentence, with what stands in the text
};

/// In the order of the log; what is repeated counts once.
std::vector<OomMessage> oom_messages(const LogText& log);

}  // namespace highwater
