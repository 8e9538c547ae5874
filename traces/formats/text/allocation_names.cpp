#include "traces/formats/text/allocation_names.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <utility>

namespace highwater {
namespace {

/// The number that `name` spells canonically; "007" is a word, not a number.
std::optional<std::uint64_t> as_number(std::string_view name) {
  std::uint64_t number = 0;
  const char* const end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data(), end, number);
  const bool has_leading_zero = name.size() > 1 && name.front() == '0';
  if (parsed.ec != std::errc{} || parsed.ptr != end || has_leading_zero) {
    return std::nullopt;
  }
  return number;
}

/// Smaller numbers go into the array, so its size stays within a small factor of the number of
/// allocations.
std::uint64_t array_limit(std::size_t count) {
  return 4 * static_cast<std::uint64_t>(count) + 65536;
}

}  // namespace

std::optional<AllocationId> AllocationNames::find(std::string_view name) const {
  const auto number = as_number(name);
  if (number && *number < by_number_.size() && by_number_[*number].has_value()) {
    return by_number_[*number];
  }
  if (by_name_.empty()) {
    return std::nullopt;
  }
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? std::nullopt : std::optional(*found);
}

AllocationId AllocationNames::add(std::string_view name) {
  const AllocationId id{count_};
  const auto number = as_number(name);
  if (!names_.empty() || number != count_) {
    remember_name(name);
  }
  if (number && *number < array_limit(count_)) {
    if (*number >= by_number_.size()) {
      by_number_.resize(std::max<std::size_t>(*number + 1, 2 * by_number_.size()));
    }
    by_number_[*number] = id;
  } else {
    by_name_.insert(id);
  }
  ++count_;
  return id;
}

std::size_t AllocationNames::Hash::operator()(std::string_view name) const {
  return std::hash<std::string_view>{}(name);
}

std::uint64_t AllocationNames::memory() const {
  return by_number_.capacity() * sizeof(AllocationId) + names_.size() * sizeof(std::string) +
         long_names_ + by_name_.bucket_count() * sizeof(AllocationId);
}

std::vector<std::string> AllocationNames::take_names() {
  by_name_.clear();
  return std::move(names_);
}

void AllocationNames::remember_name(std::string_view name) {
  for (std::size_t i = names_.size(); i < count_; ++i) {
    names_.push_back(std::to_string(i));  // so far, names and numbers were the same
  }
  const std::string& kept = names_.emplace_back(name);
  const std::size_t inside = std::string().capacity();
  long_names_ += kept.size() > inside ? kept.capacity() + 1 : 0;
}

}  // namespace highwater
