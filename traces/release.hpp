// A release of PyTorch, transformers or another library as comparable numbers: "2.6".
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace highwater {

struct Release {
  int major = 0;
  int minor = 0;

  auto operator<=>(const Release&) const = default;
};

/// What "2.6", "2.6.0" and "2.6.0+cu124" begin with; absent where major or minor is not a number.
std::optional<Release> parse_release(std::string_view text);

/// The same; "3" is 3.0, and what cannot be read is 0.0, older than every release.
Release release_of(std::string_view text);

/// "2.6"
std::string to_string(Release release);

/// The newest releases whose behaviour was recorded: what a plan imitates unless told otherwise.
inline constexpr std::string_view kNewestTorch = "2.15";
inline constexpr std::string_view kNewestTransformers = "5.24";

}  // namespace highwater
