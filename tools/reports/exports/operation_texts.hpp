// What the rows of one run's operations say in words: `export --to csv` and `--to sqlite`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/peak/operation_rows.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

/// "alloc", "free", "oom", ...
std::string_view action_of(const OperationRow& row);

/// The texts of one run, made once each.
class OperationTexts {
 public:
  /// `trace` must outlive this.
  explicit OperationTexts(const RequestTrace& trace);

  /// The name in the trace, else its number; empty for none.
  [[nodiscard]] std::string allocation(AllocationId id) const;

  /// CUDA's handle.
  [[nodiscard]] std::optional<std::uint64_t> stream(StreamId id) const;

  /// Empty before the first phase.
  [[nodiscard]] std::string phase(StringId id) const;

  /// "train.py:42 forward"; empty without a stack.
  [[nodiscard]] const std::string& site(StackId id);

 private:
  const RequestTrace* trace_;
  std::vector<std::string> sites_;
};

}  // namespace highwater
