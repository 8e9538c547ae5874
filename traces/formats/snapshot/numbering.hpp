// Numbers distinct values in the order they appear.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

namespace highwater::detail {

/// Consecutive values are usually equal (a trace has few streams), so the last one is remembered.
template <class T>
class Numbering {
 public:
  explicit Numbering(std::size_t limit) : limit_(limit) {}

  /// Nothing if `value` would exceed the limit.
  std::optional<std::size_t> number(const T& value) {
    if (last_ < values_.size() && values_[last_] == value) {
      return last_;
    }
    const auto [at, inserted] = numbers_.try_emplace(value, values_.size());
    if (inserted) {
      if (values_.size() == limit_) {
        numbers_.erase(at);
        return std::nullopt;
      }
      values_.push_back(value);
    }
    last_ = at->second;
    return last_;
  }

  [[nodiscard]] const std::vector<T>& values() const { return values_; }

 private:
  std::size_t limit_;
  std::vector<T> values_;
  std::map<T, std::size_t> numbers_;
  std::size_t last_ = 0;
};

}  // namespace highwater::detail
