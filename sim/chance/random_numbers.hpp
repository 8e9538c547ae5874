// Random numbers that are the same on every machine: neither the standard library's distributions
// nor the order in which threads run decides any.
//
// Steele, Lea and Flood, Fast splittable pseudorandom number generators (OOPSLA 2014): SplitMix64.
// Each run, and each thing that is drawn in it, has a sequence of its own.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace highwater {

/// What a sequence of numbers is for: drawing one thing more changes no other.
enum class Drawn : std::uint8_t { lengths, loads, lags, delays };

class RandomNumbers {
 public:
  RandomNumbers(std::uint64_t seed, std::uint64_t run, Drawn what)
      : state_(mixed(seed + kStep) ^
               mixed((4 * run + static_cast<std::uint64_t>(what) + 1) * kStep)) {}

  std::uint64_t next() { return mixed(state_ += kStep); }

  /// At least 0, below 1: a multiple of 2^-53.
  double fraction() { return static_cast<double>(next() >> 11U) * 0x1p-53; }

  /// Of the numbers below `count`, each as likely as the others: numbers that would favour some are
  /// drawn again.
  std::uint64_t below(std::uint64_t count) {
    const std::uint64_t whole = UINT64_MAX - UINT64_MAX % count;
    std::uint64_t number = next();
    while (number >= whole) {
      number = next();
    }
    return number % count;
  }

  /// Of mean 0 and standard deviation 1: Box and Muller, A note on the generation of random normal
  /// deviates (1958).
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - fraction()));
    return radius * std::cos(2 * std::numbers::pi * fraction());
  }

 private:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15U;

  static std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }

  std::uint64_t state_;
};

}  // namespace highwater
