// What the pickle machine keeps on its stack and in its memo: an 8-byte tagged reference.
//
// Python memoizes every container it writes, so a file of a million records makes millions of
// these; the contents live in tables (pickle_objects, and the builder's own) and small integers
// live in the reference itself. A container that is still empty needs no table slot at all: it is
// named by its memo slot (`new_list`, `new_dict`), which is overwritten once its kind is known.
#pragma once

#include <cstdint>

namespace highwater::detail {

enum class PickleKind : std::uint8_t {
  absent,         ///< no value: a memo slot that was never written
  none,           ///< Python's None
  boolean,        ///< payload 0 or 1
  integer,        ///< payload: 56 bits, signed
  wide_signed,    ///< box: an integer that needs 57 to 64 bits
  wide_unsigned,  ///< box: an integer of 2^63 or more
  real,           ///< box: a double's bits
  text,           ///< text id
  id_pair,        ///< 2-tuple of integers, interned
  list,           ///< list or tuple with contents
  dict,           ///< dict of unknown shape
  new_list,       ///< payload: memo slot + 1, or 0 when not memoized
  new_dict,       ///< as new_list
  first_record,   ///< from here on: rows of the builder's tables, by record_kind()
};

/// The builder's own kind number `n`.
constexpr PickleKind record_kind(std::uint8_t n) {
  return static_cast<PickleKind>(static_cast<std::uint8_t>(PickleKind::first_record) + n);
}

class PickleValue {
 public:
  constexpr PickleValue() = default;

  constexpr explicit PickleValue(PickleKind kind, std::uint64_t payload = 0)
      : bits_((payload << 8) | static_cast<std::uint64_t>(kind)) {}

  /// The caller has checked fits_inline().
  static constexpr PickleValue small_integer(std::int64_t value) {
    return PickleValue{PickleKind::integer, static_cast<std::uint64_t>(value)};
  }

  static constexpr bool fits_inline(std::int64_t value) {
    return value >= -(std::int64_t{1} << 55) && value < (std::int64_t{1} << 55);
  }

  [[nodiscard]] constexpr PickleKind kind() const { return static_cast<PickleKind>(bits_ & 0xff); }

  [[nodiscard]] constexpr bool is(PickleKind kind) const { return this->kind() == kind; }

  [[nodiscard]] constexpr std::uint64_t payload() const { return bits_ >> 8; }

  [[nodiscard]] constexpr std::int64_t small_integer() const {
    return static_cast<std::int64_t>(bits_) >> 8;
  }

  /// A row of one of the builder's tables; lists store consecutive rows as one run.
  [[nodiscard]] constexpr bool is_record() const { return kind() >= PickleKind::first_record; }

  [[nodiscard]] constexpr PickleValue plus(std::uint64_t n) const {
    return PickleValue{kind(), payload() + n};
  }

  constexpr bool operator==(const PickleValue&) const = default;

 private:
  std::uint64_t bits_ = 0;
};

static_assert(sizeof(PickleValue) == 8);

}  // namespace highwater::detail
