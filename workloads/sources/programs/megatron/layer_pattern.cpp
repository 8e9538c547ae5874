#include "workloads/sources/programs/megatron/layer_pattern.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

namespace highwater::program_table::megatron_keys {
namespace {

using Layers = std::vector<std::int64_t>;

/// Lists of numbers, their sums and products with a number.
class Expression {
 public:
  explicit Expression(std::string text) : text_(std::move(text)) {}

  std::optional<Layers> whole() {
    Layers layers;
    return sum(layers) && at_ == text_.size() ? std::optional(std::move(layers)) : std::nullopt;
  }

 private:
  static constexpr std::size_t kMostLayers = 10'000;

  bool skip(char wanted) {
    const bool is_there = at_ < text_.size() && text_[at_] == wanted;
    at_ += is_there ? 1 : 0;
    return is_there;
  }

  bool number(std::int64_t& value) {
    const char* const begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    at_ += static_cast<std::size_t>(end - begin);
    return error == std::errc();
  }

  bool list(Layers& layers) {
    do {
      std::int64_t value = 0;
      if (!number(value)) {
        return false;
      }
      layers.push_back(value);
    } while (skip(','));
    return skip(']');
  }

  // NOLINTNEXTLINE(misc-no-recursion): brackets
  bool product(Layers& layers) {
    const bool is_whole = skip('(') ? sum(layers) && skip(')') : skip('[') && list(layers);
    std::int64_t times = 1;
    if (!is_whole || (skip('*') && !number(times)) || times < 0 ||
        layers.size() * static_cast<std::size_t>(times) > kMostLayers) {
      return false;
    }
    const Layers once = layers;
    layers.clear();
    for (std::int64_t i = 0; i < times; ++i) {
      layers.insert(layers.end(), once.begin(), once.end());
    }
    return true;
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  bool sum(Layers& layers) {
    constexpr int kDeepest = 16;
    if (++depth_ > kDeepest) {
      return false;
    }
    do {
      Layers part;
      if (!product(part) || layers.size() + part.size() > kMostLayers) {
        return false;
      }
      layers.insert(layers.end(), part.begin(), part.end());
    } while (skip('+'));
    --depth_;
    return true;
  }

  std::string text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

std::string without_spaces(std::string_view text) {
  std::string kept(text);
  std::erase(kept, ' ');
  return kept;
}

}  // namespace

std::optional<std::int64_t> dense_layers(std::string_view text) {
  const std::string expression = without_spaces(text);
  if (expression == "1") {
    return 0;
  }
  const std::optional<Layers> layers = Expression(expression).whole();
  if (!layers) {
    return std::nullopt;
  }
  const auto first = std::ranges::find_if(*layers, [](std::int64_t value) { return value != 0; });
  const bool is_dense_first =
      std::all_of(first, layers->end(), [](std::int64_t value) { return value == 1; });
  return is_dense_first ? std::optional<std::int64_t>(first - layers->begin()) : std::nullopt;
}

}  // namespace highwater::program_table::megatron_keys
