// What a random program is drawn from: numbers, sizes, capacities and settings.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>

#include "allocator/settings/settings.hpp"
#include "tests/support/program.hpp"

namespace highwater::program {

using namespace literals;

/// Numbers that depend on the seed and on nothing else, the same with every standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// 0 to n-1.
  std::uint64_t below(std::uint64_t n) { return engine_() % n; }

  std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    return low + below(high - low + 1);
  }

  bool percent(std::uint64_t p) { return below(100) < p; }

  template <class Container>
  const auto& one_of(const Container& container) {
    return container[below(std::size(container))];
  }

 private:
  std::mt19937_64 engine_;
};

inline Bytes near_boundary(Random& random) {
  constexpr std::array<std::int64_t, 9> kOffsets{-513, -512, -511, -1, 0, 1, 511, 512, 513};
  const std::array<std::uint64_t, 9> bases{512,
                                           1 << 20,
                                           2 << 20,
                                           10 << 20,
                                           20 << 20,
                                           21 << 20,
                                           22 << 20,
                                           random.between(1, 24) << 20,
                                           std::uint64_t{1} << random.between(10, 26)};
  const auto size = static_cast<std::int64_t>(random.one_of(bases)) + random.one_of(kOffsets);
  return Bytes{static_cast<std::uint64_t>(std::max<std::int64_t>(size, 1))};
}

inline Bytes fresh_size(Sizes sizes, Random& random) {
  switch (sizes) {
    case Sizes::small:
      return Bytes{random.between(1, 1 << random.between(6, 16))};
    case Sizes::boundary:
      return near_boundary(random);
    case Sizes::large:
      return Bytes{random.between(1 << 20, 100 << 20)};
    case Sizes::mixed:
      break;
  }
  constexpr std::array kKinds{Sizes::small, Sizes::boundary, Sizes::large};
  return fresh_size(random.one_of(kKinds), random);
}

inline Bytes random_capacity(const Profile& profile, Random& random) {
  if (profile.room == Room::ample) {
    return 80_GiB;
  }
  const std::uint64_t mebibytes =
      profile.sizes == Sizes::small ? random.between(6, 40) : random.between(64, 700);
  return 1_MiB * mebibytes + Bytes{random.below(2) * 12345};
}

inline std::array<std::uint64_t, 16> random_divisions(Random& random) {
  std::array<std::uint64_t, 16> table{};
  table.fill(std::uint64_t{1} << random.between(0, 5));
  if (random.percent(50)) {
    for (std::uint64_t& entry : table) {
      entry = random.percent(30) ? 0 : std::uint64_t{1} << random.between(0, 6);
    }
  }
  return table;
}

inline Settings random_settings(const Profile& profile, Random& random) {
  Settings settings;
  if (profile.large_segment_size) {
    settings.large_segment_size = 2_MiB * random.between(6, 30);  // the granularity of pages
    settings.max_non_split_rounding_size = settings.large_segment_size;
  }
  const std::uint64_t least = std::max<std::uint64_t>(21, settings.large_segment_size / 1_MiB);
  if (profile.max_split) {
    settings.max_split_size = 1_MiB * random.between(least, least + random.between(0, 60));
    if (random.percent(40)) {
      settings.max_non_split_rounding_size = 1_MiB * random.between(least, least + 60);
    }
  }
  if (profile.roundup) {
    settings.roundup_power2_divisions = random_divisions(random);
  }
  if (profile.garbage_collection) {
    settings.garbage_collection_threshold = static_cast<double>(random.between(20, 95)) / 100;
  }
  settings.expandable_segments = profile.expandable;
  return settings;
}

}  // namespace highwater::program
