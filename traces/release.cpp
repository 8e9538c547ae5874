#include "traces/release.hpp"

#include <charconv>
#include <system_error>

namespace highwater {
namespace {

/// The number that `text` begins with, taken off its front.
std::optional<int> take_number(std::string_view& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 0) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool ends_number(std::string_view rest) {
  return rest.empty() || rest.front() == '.' || rest.front() == '+';
}

}  // namespace

std::optional<Release> parse_release(std::string_view text) {
  const auto major = take_number(text);
  if (!major || !text.starts_with('.')) {
    return std::nullopt;
  }
  text.remove_prefix(1);
  const auto minor = take_number(text);
  if (!minor || !ends_number(text)) {
    return std::nullopt;
  }
  return Release{*major, *minor};
}

Release release_of(std::string_view text) {
  if (const auto release = parse_release(text)) {
    return *release;
  }
  const auto major = take_number(text);
  return major && text.empty() ? Release{*major, 0} : Release{};
}

std::string to_string(Release release) {
  return std::to_string(release.major) + "." + std::to_string(release.minor);
}

}  // namespace highwater
