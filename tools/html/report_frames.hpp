// The frames that a picture of a report names, each once, by number: a label, where it is from, and
// whose code it is.
#pragma once

#include <cstdint>
#include <map>

#include <boost/json/array.hpp>

#include "traces/ids.hpp"
#include "traces/stack_table.hpp"

namespace highwater {

class FrameNames {
 public:
  /// `tables` must outlive the names.
  explicit FrameNames(const SideTables& tables) : tables_(&tables) {}

  /// -1 for no frame.
  std::int64_t of(FrameId frame);

  /// [label, origin, code] by number; the code is that of frame_code.hpp.
  [[nodiscard]] boost::json::array take() { return std::move(names_); }

 private:
  const SideTables* tables_;
  std::map<FrameId, std::size_t> numbers_;
  boost::json::array names_;
};

}  // namespace highwater
