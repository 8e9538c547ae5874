// A list of what makes a model impossible to build or run, with the checks that families share.
// Nothing stops at the first problem. The list itself is made by model_problems() (model_spec.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace highwater {

class ModelProblems {
 public:
  template <class... Args>
  void add(fmt::format_string<Args...> text, Args&&... args) {
    list_.push_back(fmt::format(text, std::forward<Args>(args)...));
  }

  void check_size(std::string_view name, std::int64_t size);
  void check_layers(std::string_view name, std::int64_t layers);
  void check_probability(std::string_view name, double value);
  void check_divides(std::string_view part, std::int64_t n, std::string_view whole,
                     std::int64_t size);
  void check_rotary(std::string_view name, std::int64_t rotary_dim, std::int64_t head_dim);
  void refuse_layerdrop(double layerdrop);

  [[nodiscard]] std::vector<std::string> take() && { return std::move(list_); }

 private:
  std::vector<std::string> list_;
};

}  // namespace highwater
