#pragma once

#include <cstddef>

namespace highwater {

/// Entries [begin, end) of RecordedDevice::entries.
struct EntryRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

}  // namespace highwater
