#include "allocator/settings/settings_tokens.hpp"

#include <algorithm>
#include <cctype>
#include <limits>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "traces/error.hpp"

namespace highwater::detail {
namespace {

bool is_dropped(char c, DroppedSpace dropped) {
  return dropped == DroppedSpace::blanks ? c == ' '
                                         : std::isspace(static_cast<unsigned char>(c)) != 0;
}

bool is_separator(char c) {
  return c == ',' || c == ':' || c == '[' || c == ']';
}

/// Calls `read`, one of the std::sto... functions, and turns its exception into a SettingsError.
template <class Read>
auto convert(std::string_view function, const std::string& token, std::string_view option,
             Read read) {
  try {
    return read(token);
  } catch (const std::logic_error&) {  // std::invalid_argument or std::out_of_range
    throw SettingsError(
        fmt::format("{}: '{}' is not a number in range ({})", option, token, function));
  }
}

}  // namespace

std::vector<std::string> tokens_of(std::string_view conf, DroppedSpace dropped) {
  std::vector<std::string> tokens;
  std::string word;
  const auto finish_word = [&] {
    if (!word.empty()) {
      tokens.push_back(std::exchange(word, {}));
    }
  };
  for (const char c : conf) {
    if (is_separator(c)) {
      finish_word();
      tokens.emplace_back(1, c);
    } else if (!is_dropped(c, dropped)) {
      word.push_back(c);
    }
  }
  finish_word();
  return tokens;
}

int to_int(const std::string& token, std::string_view option) {
  return convert("stoi", token, option, [](const std::string& text) { return std::stoi(text); });
}

std::uint64_t to_unsigned_long(const std::string& token, std::string_view option) {
  return convert("stoul", token, option, [](const std::string& text) { return std::stoul(text); });
}

std::uint64_t to_unsigned_long_long(const std::string& token, std::string_view option) {
  return convert("stoull", token, option,
                 [](const std::string& text) { return std::stoull(text); });
}

double to_double(const std::string& token, std::string_view option) {
  return convert("stod", token, option, [](const std::string& text) { return std::stod(text); });
}

std::uint64_t mebibytes_to_bytes(std::uint64_t mebibytes) {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  return std::min(mebibytes, std::numeric_limits<std::uint64_t>::max() / kMiB) * kMiB;
}

void check_backend(std::string_view backend, std::string_view difference) {
  if (backend == "cudaMallocAsync") {
    throw SettingsError(
        fmt::format("Allocator backend parsed at runtime != allocator backend parsed at load time{}"
                    "; backend:cudaMallocAsync leaves allocation to the driver, which is not "
                    "modelled",
                    difference));
  }
  if (backend != "native") {
    throw SettingsError("Unknown allocator backend, options are native and cudaMallocAsync");
  }
}

}  // namespace highwater::detail
