// What the lines of a text trace define for later lines: allocations, pools, frames and stacks.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>

#include "traces/formats/text/allocation_names.hpp"
#include "traces/formats/text/text_fields.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

class TextDefinitions {
 public:
  TextDefinitions(TextFields& fields, RequestTrace& trace) : fields_(fields), trace_(trace) {}

  /// The allocation that the next word names; it must not exist yet.
  AllocationId new_allocation();

  /// The allocation that the next word names; it must exist.
  AllocationId known_allocation();

  PoolIndex pool(PoolId id);
  StackId stack(std::string_view number);
  StringId text(std::string_view written);

  // The lines `frame` and `stack`.
  void read_frame();
  void read_stack();

  /// Bytes of all that is kept, about.
  [[nodiscard]] std::uint64_t memory() const;

  /// Hands the names of the allocations to the trace.
  void finish();

 private:
  template <class Id>
  std::uint64_t new_key(const std::unordered_map<std::uint64_t, Id>& table);

  template <class Id>
  Id known(const std::unordered_map<std::uint64_t, Id>& table, std::string_view number,
           std::string_view what);

  TextFields& fields_;
  RequestTrace& trace_;
  AllocationNames names_;
  std::map<PoolId, PoolIndex> pools_;
  std::unordered_map<std::uint64_t, FrameId> frames_;
  std::unordered_map<std::uint64_t, StackId> stacks_;
  std::uint64_t characters_ = 0;  ///< of distinct strings
  std::uint64_t frames_in_stacks_ = 0;
};

}  // namespace highwater
