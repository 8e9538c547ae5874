#include "tools/record/fakecuda/core/contents.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <string>

#include "tools/record/fakecuda/core/lock.hpp"

namespace highwater::fakecuda {
namespace {

constexpr std::size_t kRemembered = 1U << 20;

using Ranges = std::map<std::uint64_t, std::string>;  // address -> bytes, disjoint

Ranges& ranges() {
  static auto* const made = new Ranges;
  return *made;
}

// Lets the many calls that find nothing known pass without the lock.
std::atomic<bool> anything_known{false};

Ranges::iterator first_reaching(std::uint64_t address) {
  auto range = ranges().upper_bound(address);
  if (range != ranges().begin()) {
    --range;
  }
  return range;
}

// Takes [begin, begin + size) out of the known ranges.
void cut(std::uint64_t begin, std::size_t size) {
  const std::uint64_t end = begin + size;
  auto range = first_reaching(begin);
  while (range != ranges().end() && range->first < end) {
    const std::uint64_t first = range->first, last = first + range->second.size();
    if (last <= begin) {
      ++range;
      continue;
    }
    const std::string bytes = std::move(range->second);
    range = ranges().erase(range);
    if (first < begin) {
      ranges()[first] = bytes.substr(0, begin - first);
    }
    if (last > end) {
      ranges()[end] = bytes.substr(end - first);
    }
  }
}

}  // namespace

void write_contents(std::uint64_t to, const void* from, std::size_t size) {
  if (size == 0) {
    return;
  }
  const auto hold = hold_state();
  cut(to, size);
  if (size <= kRemembered) {
    ranges()[to].assign(static_cast<const char*>(from), size);
  }
  anything_known = !ranges().empty();
}

std::size_t read_contents(void* to, std::uint64_t from, std::size_t size) {
  if (!anything_known) {
    return 0;
  }
  const auto hold = hold_state();
  std::size_t known = 0;
  for (auto range = first_reaching(from); range != ranges().end() && range->first < from + size;
       ++range) {
    const std::uint64_t begin = std::max(range->first, from);
    const std::uint64_t end = std::min(range->first + range->second.size(), from + size);
    if (begin < end) {
      std::memcpy(static_cast<char*>(to) + (begin - from),
                  range->second.data() + (begin - range->first), end - begin);
      known += end - begin;
    }
  }
  return known;
}

void move_contents(std::uint64_t to, std::uint64_t from, std::size_t size) {
  if (!anything_known || to == from) {
    return;
  }
  std::string bytes(std::min(size, kRemembered), '\0');
  if (size > kRemembered || read_contents(bytes.data(), from, size) < size) {
    forget_contents(to, size);
  } else {
    write_contents(to, bytes.data(), size);
  }
}

void forget_contents(std::uint64_t address, std::size_t size) {
  if (!anything_known) {
    return;
  }
  const auto hold = hold_state();
  cut(address, size);
  anything_known = !ranges().empty();
}

void forget_all_contents() {
  if (!anything_known) {
    return;
  }
  const auto hold = hold_state();
  ranges().clear();
  anything_known = false;
}

}  // namespace highwater::fakecuda
