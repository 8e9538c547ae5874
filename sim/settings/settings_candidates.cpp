#include "sim/settings/settings_candidates.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "allocator/settings/constants.hpp"
#include "allocator/settings/settings_change.hpp"

namespace highwater {
namespace {

Bytes largest_request(const RequestTrace& trace) {
  Bytes largest;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::alloc) {
      largest = std::max(largest, event.bytes());
    }
  }
  return largest;
}

/// Powers of two above 20 MiB, the least that PyTorch accepts, and not above the largest request:
/// with a larger limit no block is ever kept whole.
void add_split_limits(const RequestTrace& trace, std::vector<std::string>& values) {
  constexpr std::uint64_t kMostMebibytes = 1 << 20;  // no device is larger, and stoi must read it
  const std::uint64_t largest = std::min(largest_request(trace).count() >> 20, kMostMebibytes);
  for (std::uint64_t mebibytes = 32; mebibytes <= largest; mebibytes *= 2) {
    values.push_back(fmt::format("{}", mebibytes));
  }
}

}  // namespace

MemoryBound memory_bound(const ReplayOptions& options) {
  const bool is_limited =
      options.memory_limit || options.fraction || options.settings.per_process_memory_fraction;
  return is_limited ? MemoryBound::limited : MemoryBound::unlimited;
}

OptionValues candidate_values(std::string_view option, const RequestTrace& trace,
                              MemoryBound bound) {
  OptionValues result{std::string(option), {std::string(kDefaultValue)}};
  if (option == "expandable_segments") {
    result.values.emplace_back("True");
  } else if (option == "max_split_size_mb") {
    add_split_limits(trace, result.values);
  } else if (option == "roundup_power2_divisions") {
    for (const int divisions : {2, 4, 8, 16}) {  // 1 rounds nothing (roundup_power2_next_division)
      result.values.push_back(fmt::format("{}", divisions));
    }
  } else if (option == "garbage_collection_threshold" && bound == MemoryBound::limited) {
    result.values.insert(result.values.end(), {"0.6", "0.8"});
  }
  return result;
}

std::vector<OptionValues> candidate_values(const RequestTrace& trace, MemoryBound bound) {
  constexpr std::array<std::string_view, 4> kOptions{"expandable_segments", "max_split_size_mb",
                                                     "roundup_power2_divisions",
                                                     "garbage_collection_threshold"};
  std::vector<OptionValues> result;
  for (const std::string_view option : kOptions) {
    OptionValues values = candidate_values(option, trace, bound);
    if (values.values.size() > 1) {
      result.push_back(std::move(values));
    }
  }
  return result;
}

}  // namespace highwater
