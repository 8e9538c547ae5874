// Device addresses as a type: the difference of two is a size, an address plus a size is an
// address, and nothing else compiles.
#pragma once

#include <compare>
#include <cstdint>

#include "traces/units.hpp"

namespace highwater {

class Address {
 public:
  constexpr Address() = default;

  constexpr explicit Address(std::uint64_t value) : value_(value) {}

  [[nodiscard]] constexpr std::uint64_t value() const { return value_; }

  constexpr auto operator<=>(const Address&) const = default;

  friend constexpr Address operator+(Address a, Bytes n) { return Address{a.value_ + n.count()}; }

  friend constexpr Address operator-(Address a, Bytes n) { return Address{a.value_ - n.count()}; }

  friend constexpr Bytes operator-(Address a, Address b) {
    return Bytes{a.value_} - Bytes{b.value_};
  }

 private:
  std::uint64_t value_ = 0;
};

/// The half-open range [begin, begin + size).
struct AddressRange {
  Address begin;
  Bytes size;

  [[nodiscard]] constexpr Address end() const { return begin + size; }

  [[nodiscard]] constexpr bool contains(Address a) const { return begin <= a && a < end(); }

  auto operator<=>(const AddressRange&) const = default;
};

}  // namespace highwater
