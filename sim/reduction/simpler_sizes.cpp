// Sizes that are as small and as round as the property allows.
#include <algorithm>
#include <map>

#include "allocator/settings/constants.hpp"
#include "sim/reduction/shorter_program.hpp"

namespace highwater {
namespace {

constexpr std::uint64_t kKiB = 1U << 10U;
constexpr std::uint64_t kMiB = 1U << 20U;

/// What to try in the place of `size`, the plainest first and none larger: powers of two, then
/// multiples of ever smaller units.
std::vector<std::uint64_t> simpler_than(std::uint64_t size) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t power = kMinBlockSize.count(); power < size; power *= 2) {
    sizes.push_back(power);
  }
  for (const std::uint64_t unit : {1024 * kMiB, 256 * kMiB, 64 * kMiB, 16 * kMiB, 2 * kMiB, kMiB,
                                   64 * kKiB, kMinBlockSize.count()}) {
    const std::uint64_t rounded = size / unit * unit;
    if (rounded > 0 && rounded < size && std::ranges::find(sizes, rounded) == sizes.end()) {
      sizes.push_back(rounded);
    }
  }
  return sizes;
}

/// `program` with the allocations at `places` of `size` bytes.
Program resized(Program program, const std::vector<std::size_t>& places, std::uint64_t size) {
  for (const std::size_t place : places) {
    program[place].value = size;
  }
  return program;
}

/// The first of the simpler sizes with which the property shows; the program as it is without one.
Program simplified(Program program, const std::vector<std::size_t>& places, PropertyCheck& check) {
  const std::vector<std::uint64_t> sizes = simpler_than(program[places.front()].value);
  for (std::size_t begin = 0; begin < sizes.size(); begin += check.offered()) {
    std::vector<Program> candidates;
    for (std::size_t i = begin; i < std::min(begin + check.offered(), sizes.size()); ++i) {
      candidates.push_back(resized(program, places, sizes[i]));
    }
    if (const auto found = check.first_that_shows(candidates)) {
      return std::move(candidates[*found]);
    }
  }
  return program;
}

/// The places of each size, the largest size first.
std::map<std::uint64_t, std::vector<std::size_t>, std::greater<>> places_by_size(
    const Program& program) {
  std::map<std::uint64_t, std::vector<std::size_t>, std::greater<>> places;
  for (std::size_t i = 0; i < program.size(); ++i) {
    if (program[i].kind == EventKind::alloc) {
      places[program[i].value].push_back(i);
    }
  }
  return places;
}

}  // namespace

Program with_simpler_sizes(const Program& program, PropertyCheck& check) {
  Program result = program;
  for (const auto& [size, places] : places_by_size(program)) {
    result = simplified(std::move(result), places, check);
  }
  for (const auto& [size, places] : places_by_size(result)) {
    for (const std::size_t place : places) {
      result = simplified(std::move(result), {place}, check);
    }
  }
  return result;
}

}  // namespace highwater
