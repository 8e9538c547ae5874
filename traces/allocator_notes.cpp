#include "traces/allocator_notes.hpp"

#include <algorithm>
#include <array>

#include "traces/event.hpp"
#include "traces/parse_text.hpp"

namespace highwater {
namespace {

constexpr std::string_view kPrefix = "allocator: ";

constexpr std::array<std::string_view, 10> kWords{"noted", "empty_cache", "retry", "settings",
                                                  "pool",  "release",     "done",  "device",
                                                  "limit", "retire"};

/// The first word of `text`, which loses it and the space behind it.
std::string_view take_word(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

std::optional<PoolId> pool_called(std::string_view word) {
  const std::size_t comma = word.find(',');
  if (comma == std::string_view::npos) {
    return std::nullopt;
  }
  const auto capture = parse_number<std::uint64_t>(word.substr(0, comma));
  const auto user = parse_number<std::uint64_t>(word.substr(comma + 1));
  return capture && user ? std::optional(PoolId{*capture, *user}) : std::nullopt;
}

}  // namespace

std::optional<AllocatorNote> allocator_note(std::string_view annotation) {
  if (!annotation.starts_with(kPrefix)) {
    return std::nullopt;
  }
  annotation.remove_prefix(kPrefix.size());
  const auto* const word = std::ranges::find(kWords, take_word(annotation));
  if (word == kWords.end()) {
    return std::nullopt;
  }
  return AllocatorNote{static_cast<AllocatorNote::Kind>(word - kWords.begin()), annotation};
}

std::string name_of(const AllocatorNote& note) {
  std::string name(kPrefix);
  name += kWords.at(static_cast<std::size_t>(note.kind));
  return note.rest.empty() ? name : name + " " + std::string(note.rest);
}

std::optional<std::pair<PoolId, PoolOptions>> noted_pool(std::string_view rest) {
  const std::optional<PoolId> pool = pool_called(take_word(rest));
  PoolOptions options;
  bool is_known = pool.has_value();
  while (is_known && !rest.empty()) {
    is_known = set_option(take_word(rest), options);
  }
  return is_known ? std::optional(std::pair(*pool, options)) : std::nullopt;
}

std::optional<PoolId> noted_retirement(std::string_view rest) {
  return pool_called(rest);
}

std::optional<std::uint64_t> noted_limit(std::string_view rest) {
  return rest == "none" ? std::optional(kNoLimit) : parse_number<std::uint64_t>(rest);
}

std::optional<NotedRelease> noted_release(std::string_view rest) {
  const std::optional<PoolId> pool = pool_called(take_word(rest));
  const bool is_known = pool && (rest.empty() || rest == "now");
  return is_known ? std::optional(NotedRelease{*pool, rest == "now"}) : std::nullopt;
}

}  // namespace highwater
