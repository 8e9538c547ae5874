// Random values for made-up traces, the same for the same seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "traces/ids.hpp"

namespace highwater::test {

class Dice {
 public:
  explicit Dice(std::uint32_t seed) : engine_(seed) {}

  std::uint64_t below(std::uint64_t n) { return engine_() % n; }

  bool one_in(std::uint64_t n) { return below(n) == 0; }

  /// Mostly small and round numbers, sometimes extreme ones.
  std::uint64_t number() {
    switch (below(6)) {
      case 0:
        return below(4);
      case 1:
        return below(100) * 512;
      case 2:
        return below(std::uint64_t{1} << 32U);
      case 3:
        return engine_();
      case 4:
        return ~std::uint64_t{0} - below(2);
      default:
        return below(8) << 20U;
    }
  }

  std::int64_t signed_number() { return static_cast<std::int64_t>(number()); }

  std::string text() {
    static constexpr std::string_view kLetters = "ab/\\ \n\t\r@#,.x\xff";
    std::string text = one_in(2) ? "/a/common/path/" : "";
    for (std::uint64_t left = below(12); left > 0; --left) {
      text += kLetters[below(kLetters.size())];
    }
    return text;
  }

  template <class Tag>
  Id<Tag> id(std::size_t count) {
    return count == 0 || one_in(3) ? Id<Tag>::none() : Id<Tag>{below(count)};
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace highwater::test
