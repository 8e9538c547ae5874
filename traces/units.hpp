// Sizes in bytes as a type of their own.
//
// Every size in Highwater is a `Bytes`: it does not mix with plain integers, its subtraction
// refuses to wrap, and it leaves the type system only through count(), where numbers enter or leave
// the program. Sizes read from people ("80GiB", "512M") and printed for people (IEC units) are here
// too.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace highwater {

namespace detail {
/// Stops the program because an invariant is broken; never used for a user's mistake.
[[noreturn]] void fail_arithmetic(const char* what);
}  // namespace detail

/// A number of bytes, 0 to 2^64-1.
class Bytes {
 public:
  constexpr Bytes() = default;

  constexpr explicit Bytes(std::uint64_t count) : count_(count) {}

  [[nodiscard]] constexpr std::uint64_t count() const { return count_; }

  constexpr auto operator<=>(const Bytes&) const = default;

  constexpr Bytes& operator+=(Bytes other) {
    count_ += other.count_;
    return *this;
  }

  constexpr Bytes& operator-=(Bytes other) {
    if (other.count_ > count_) [[unlikely]] {
      detail::fail_arithmetic("a size became negative");
    }
    count_ -= other.count_;
    return *this;
  }

  friend constexpr Bytes operator+(Bytes a, Bytes b) { return a += b; }

  friend constexpr Bytes operator-(Bytes a, Bytes b) { return a -= b; }

  friend constexpr Bytes operator*(Bytes a, std::uint64_t n) { return Bytes{a.count_ * n}; }

  friend constexpr std::uint64_t operator/(Bytes a, Bytes b) { return a.count_ / b.count_; }

  friend constexpr Bytes operator/(Bytes a, std::uint64_t n) { return Bytes{a.count_ / n}; }

  friend constexpr Bytes operator%(Bytes a, Bytes b) { return Bytes{a.count_ % b.count_}; }

 private:
  std::uint64_t count_ = 0;
};

namespace literals {
constexpr Bytes operator""_B(unsigned long long n) {
  return Bytes{n};
}

constexpr Bytes operator""_KiB(unsigned long long n) {
  return Bytes{n << 10};
}

constexpr Bytes operator""_MiB(unsigned long long n) {
  return Bytes{n << 20};
}

constexpr Bytes operator""_GiB(unsigned long long n) {
  return Bytes{n << 30};
}
}  // namespace literals

/// `size` rounded up to a multiple of `unit` (> 0); the caller guarantees that it does not wrap.
constexpr Bytes round_up(Bytes size, Bytes unit) {
  return Bytes{(size.count() + unit.count() - 1) / unit.count() * unit.count()};
}

constexpr Bytes round_down(Bytes size, Bytes unit) {
  return size - size % unit;
}

/// Reads "80GiB", "80GB", "512M", "1.5G" or plain bytes. K, M, G, T alone and KiB... are powers of
/// 1024; KB, MB, GB, TB are powers of 1000. Case does not matter. Nothing if `text` is not a size.
std::optional<Bytes> parse_bytes(std::string_view text);

/// "2.50 GiB", "512 B": IEC units, two decimals above bytes.
std::string to_iec(Bytes size);

/// As to_iec with a sign in front, for differences: "+1.20 MiB", "-512 B".
std::string to_iec_signed(std::int64_t difference);

}  // namespace highwater
