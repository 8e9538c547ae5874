// From the allocation IDs of a text trace to dense numbers.
//
// Any word may name an allocation, but nearly all files count upward: small numbers are looked up
// in an array, only the others in a hash table. The names are kept only if they differ from the
// dense numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/ids.hpp"

namespace highwater {

class AllocationNames {
 public:
  [[nodiscard]] std::optional<AllocationId> find(std::string_view name) const;

  /// The next number, for a name that find() does not know.
  AllocationId add(std::string_view name);

  [[nodiscard]] std::size_t size() const { return count_; }

  /// The names by number; empty when each allocation is named by its own number.
  [[nodiscard]] std::vector<std::string> take_names() { return std::move(names_); }

 private:
  void remember_name(std::string_view name);

  std::size_t count_ = 0;
  std::vector<AllocationId> by_number_;
  std::unordered_map<std::string, AllocationId> by_name_;
  std::vector<std::string> names_;
};

}  // namespace highwater
