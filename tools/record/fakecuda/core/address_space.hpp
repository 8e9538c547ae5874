// The addresses of one device: a bump pointer and the freed ranges.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "tools/record/fakecuda/core/settings.hpp"

namespace highwater::fakecuda {

class AddressSpace {
 public:
  AddressSpace(std::uint64_t begin, std::uint64_t end) : next_(begin), end_(end) {}

  /// A range of `size` bytes, nothing if none is left. With AddressOrder::bump freed ranges are
  /// used again only when fresh addresses have run out.
  std::optional<std::uint64_t> take(std::uint64_t size, AddressOrder order);

  void give_back(std::uint64_t address, std::uint64_t size);

 private:
  std::optional<std::uint64_t> take_hole(std::uint64_t size);

  std::uint64_t next_, end_;
  std::map<std::uint64_t, std::uint64_t> holes_;  // address -> size; neighbours are merged
};

}  // namespace highwater::fakecuda
