// From the allocation IDs of a text trace to dense numbers.
//
// Any word may name an allocation, but nearly all files count upward: small numbers are looked up
// in an array, only the others in a hash table. The names are kept only if they differ from the
// dense numbers, and once: the table refers to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_set.hpp>

#include "traces/ids.hpp"

namespace highwater {

class AllocationNames {
 public:
  AllocationNames() = default;
  AllocationNames(const AllocationNames&) = delete;  // the table refers to names_
  AllocationNames& operator=(const AllocationNames&) = delete;

  [[nodiscard]] std::optional<AllocationId> find(std::string_view name) const;

  /// The next number, for a name that find() does not know.
  AllocationId add(std::string_view name);

  [[nodiscard]] std::size_t size() const { return count_; }

  /// Bytes of all that is kept, about.
  [[nodiscard]] std::uint64_t memory() const;

  /// The names by number; empty when each allocation is named by its own number. Nothing is found
  /// any more.
  [[nodiscard]] std::vector<std::string> take_names();

 private:
  /// Names by themselves or by their number.
  struct Hash {
    using is_transparent = void;

    std::size_t operator()(std::string_view name) const;

    std::size_t operator()(AllocationId id) const { return (*this)((*names)[id.index()]); }

    const std::vector<std::string>* names;
  };

  struct Equal {
    using is_transparent = void;

    bool operator()(AllocationId a, AllocationId b) const { return a == b; }

    bool operator()(std::string_view name, AllocationId id) const {
      return (*names)[id.index()] == name;
    }

    bool operator()(AllocationId id, std::string_view name) const { return (*this)(name, id); }

    const std::vector<std::string>* names;
  };

  void remember_name(std::string_view name);

  std::size_t count_ = 0;
  std::vector<AllocationId> by_number_;
  std::vector<std::string> names_;
  std::uint64_t long_names_ = 0;  ///< bytes of those that do not fit into a std::string itself
  boost::unordered_flat_set<AllocationId, Hash, Equal> by_name_{0, Hash{&names_}, Equal{&names_}};
};

}  // namespace highwater
