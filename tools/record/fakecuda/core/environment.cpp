#include "tools/record/fakecuda/core/environment.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <limits>

namespace highwater::fakecuda {
namespace {

// 0 for an unknown suffix.
std::uint64_t suffix_factor(std::string_view suffix) {
  if (suffix.empty()) {
    return 1;
  }
  if (suffix == "K") {
    return 1ULL << 10;
  }
  if (suffix == "M") {
    return 1ULL << 20;
  }
  if (suffix == "G") {
    return 1ULL << 30;
  }
  return suffix == "T" ? 1ULL << 40 : 0;
}

}  // namespace

std::optional<std::string> environment_text(const char* name) {
  const char* const text = std::getenv(name);
  if (text == nullptr || *text == '\0') {
    return std::nullopt;
  }
  return text;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  const std::uint64_t factor = suffix_factor(std::string_view(rest, end));
  if (error != std::errc() || factor == 0 ||
      value > std::numeric_limits<std::uint64_t>::max() / factor) {
    return std::nullopt;
  }
  return value * factor;
}

std::uint64_t environment_size(const char* name, std::uint64_t fallback) {
  const std::optional<std::string> text = environment_text(name);
  if (!text) {
    return fallback;
  }
  const std::optional<std::uint64_t> value = parse_size(*text);
  if (!value) {
    reject_environment(name, *text, "expected a whole number with an optional suffix K, M, G or T");
  }
  return *value;
}

int environment_number(const char* name, int fallback, int low, int high) {
  const std::uint64_t value = environment_size(name, static_cast<std::uint64_t>(fallback));
  if (value < static_cast<std::uint64_t>(low) || value > static_cast<std::uint64_t>(high)) {
    reject_environment(
        name, *environment_text(name),
        "expected a number from " + std::to_string(low) + " to " + std::to_string(high));
  }
  return static_cast<int>(value);
}

void reject_environment(std::string_view name, std::string_view value, std::string_view reason) {
  std::fprintf(stderr, "fake CUDA device: %.*s=%.*s: %.*s\n", static_cast<int>(name.size()),
               name.data(), static_cast<int>(value.size()), value.data(),
               static_cast<int>(reason.size()), reason.data());
  std::_Exit(3);
}

}  // namespace highwater::fakecuda
