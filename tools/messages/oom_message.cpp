#include "tools/messages/oom_message.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "traces/parse_text.hpp"

namespace highwater {
namespace {

/// A place in a stream where a message may begin.
struct Candidate {
  std::size_t begins = 0;
  MessageMatch match;
  const AllocatorFormat* allocator = nullptr;
  const OtherFormat* other = nullptr;

  [[nodiscard]] std::size_t ends() const { return begins + match.length; }
};

/// Finds the anchors of all formats in one pass: by their first four characters.
class AnchorIndex {
 public:
  struct Format {
    const AllocatorFormat* allocator = nullptr;
    const OtherFormat* other = nullptr;

    [[nodiscard]] const MessagePattern& pattern() const {
      return allocator != nullptr ? allocator->pattern : other->pattern;
    }
  };

  AnchorIndex() {
    for (const AllocatorFormat& format : message_facts().allocator) {
      add({&format, nullptr});
    }
    for (const OtherFormat& format : message_facts().others) {
      add({nullptr, &format});
    }
  }

  template <class Visit>
  void visit(std::string_view compact, Visit visit) const {
    for (std::size_t at = 0; at + kKey <= compact.size(); ++at) {
      const std::uint32_t key = key_of(compact.data() + at);
      if (may_be_[hash(key)]) {
        visit_key(key, compact.substr(at), [&](const Format& format) { visit(at, format); });
      }
    }
  }

 private:
  static constexpr std::size_t kKey = 4;
  static constexpr std::size_t kBuckets = 4096;

  static std::uint32_t key_of(const char* text) {
    std::uint32_t key = 0;
    std::memcpy(&key, text, kKey);
    return key;
  }

  static std::size_t hash(std::uint32_t key) { return (key * 2654435761U) >> 20U; }

  void add(Format format) {
    const std::uint32_t key = key_of(format.pattern().anchor().data());
    may_be_[hash(key)] = true;
    formats_[key].push_back(format);
  }

  template <class Visit>
  void visit_key(std::uint32_t key, std::string_view rest, Visit visit) const {
    const auto found = formats_.find(key);
    if (found == formats_.end()) {
      return;
    }
    for (const Format& format : found->second) {
      if (rest.starts_with(format.pattern().anchor())) {
        visit(format);
      }
    }
  }

  std::array<bool, kBuckets> may_be_{};
  std::unordered_map<std::uint32_t, std::vector<Format>> formats_;
};

/// A message of the allocator tells more than its first words: those stand in other texts as well.
bool is_message(const AnchorIndex::Format& format, const MessageMatch& match) {
  constexpr std::size_t kLeastValues = 2;
  return format.allocator != nullptr ? match.values.size() >= kLeastValues : match.is_whole;
}

std::vector<Candidate> candidates_in(std::string_view compact) {
  static const AnchorIndex kAnchors;
  std::vector<Candidate> candidates;
  kAnchors.visit(compact, [&](std::size_t at, const AnchorIndex::Format& format) {
    MessageMatch match = format.pattern().match(compact.substr(at));
    if (is_message(format, match)) {
      candidates.push_back({at, std::move(match), format.allocator, format.other});
    }
  });
  return candidates;
}

/// Where messages overlap, the longest one is meant.
std::vector<Candidate> without_overlaps(std::vector<Candidate> candidates) {
  std::ranges::stable_sort(candidates, std::greater{},
                           [](const Candidate& each) { return each.match.length; });
  std::map<std::size_t, Candidate> taken;
  for (Candidate& each : candidates) {
    const auto next = taken.lower_bound(each.begins);
    const bool is_free_before =
        next == taken.begin() || std::prev(next)->second.ends() <= each.begins;
    const bool is_free_behind = next == taken.end() || next->first >= each.ends();
    if (is_free_before && is_free_behind) {
      taken.emplace(each.begins, std::move(each));
    }
  }
  std::vector<Candidate> result;
  result.reserve(taken.size());
  for (auto& [begins, each] : taken) {
    result.push_back(std::move(each));
  }
  return result;
}

using FigurePlace = std::optional<PrintedSize> MessageFigures::*;

constexpr std::array kFigurePlaces{
    std::pair<std::string_view, FigurePlace>{"asked", &MessageFigures::asked},
    std::pair<std::string_view, FigurePlace>{"total", &MessageFigures::total},
    std::pair<std::string_view, FigurePlace>{"free", &MessageFigures::free},
    std::pair<std::string_view, FigurePlace>{"allocated", &MessageFigures::allocated},
    std::pair<std::string_view, FigurePlace>{"unallocated", &MessageFigures::unallocated},
    std::pair<std::string_view, FigurePlace>{"reserved", &MessageFigures::reserved},
    std::pair<std::string_view, FigurePlace>{"allowed", &MessageFigures::allowed},
    std::pair<std::string_view, FigurePlace>{"private", &MessageFigures::private_pools},
    std::pair<std::string_view, FigurePlace>{"in_use", &MessageFigures::in_use}};

void note_value(const CapturedValue& value, OomMessage& message) {
  if (value.name == "device") {
    message.device = parse_number<int>(value.text);
  } else if (value.name == "process") {
    message.figures.processes.push_back({value.text, {}});
  } else if (value.name == "process_use") {
    message.figures.processes.back().in_use = *value.size;
  }
  const auto place = std::ranges::find(kFigurePlaces, value.name,
                                       &std::pair<std::string_view, FigurePlace>::first);
  if (place != kFigurePlaces.end()) {
    message.figures.*(place->second) = value.size;
  }
}

/// "CUDA" of "CUDA out of memory. Tried to allocate".
std::string backend_before(std::string_view compact, std::size_t begins) {
  for (const std::string_view backend : {"CUDA", "HIP", "XPU", "NPU", "MUSA"}) {
    std::string words;
    append_compact(backend, words);
    append_compact(" out of memory.", words);
    if (compact.substr(0, begins).ends_with(words)) {
      return std::string(backend);
    }
  }
  return {};
}

/// The release that follows from the advice behind the message, or from the message itself.
ReleaseSpan releases_of_message(const AllocatorFormat& format, std::string_view behind) {
  for (const MessageHint& hint : message_facts().hints) {
    if (hint.pattern.match(behind.substr(behind.starts_with('.') ? 1 : 0)).is_whole) {
      return hint.releases;
    }
  }
  return format.releases;
}

std::string with_values(std::string_view verdict, const std::vector<CapturedValue>& values) {
  std::string text(verdict);
  for (const CapturedValue& value : values) {
    const std::string place = "{" + std::string(value.name) + "}";
    for (std::size_t at = text.find(place); at != std::string::npos; at = text.find(place)) {
      text.replace(at, place.size(), value.text);
    }
  }
  return text;
}

OomMessage message_of(const LogText& log, const LogStream& stream, const Candidate& candidate) {
  OomMessage message;
  const LogStream::Line& line = *stream.line_at(candidate.begins);
  const std::string_view compact = stream.compact;
  message.line = line.number + 1;
  message.rank = line.rank;
  message.text = log.words(stream, {candidate.begins, candidate.ends()});
  message.backend = backend_before(compact, candidate.begins);
  for (const CapturedValue& value : candidate.match.values) {
    note_value(value, message);
  }
  if (candidate.allocator != nullptr) {
    message.name = candidate.allocator->name;
    message.releases = releases_of_message(*candidate.allocator, compact.substr(candidate.ends()));
  } else {
    message.name = candidate.other->name;
    message.other = candidate.other;
    message.other_verdict = with_values(candidate.other->verdict, candidate.match.values);
  }
  return message;
}

/// Messages that a traceback, a wrapper and the launcher repeat.
class Repetitions {
 public:
  /// Where the same message of the same rank is, or would go.
  std::size_t& place(std::optional<int> rank, std::string_view compact) {
    return places_[{rank.value_or(-1), std::string(compact)}];
  }

 private:
  std::map<std::pair<int, std::string>, std::size_t> places_;
};

/// Wrappers that shorten a message stand beside it: they say nothing that it does not.
void leave_out_shortened(std::vector<OomMessage>& messages) {
  const bool has_figures = std::ranges::any_of(
      messages, [](const OomMessage& message) { return message.other == nullptr; });
  const auto is_shortened = [](const OomMessage& message) {
    return message.other != nullptr && message.other->name == "out of memory";
  };
  if (has_figures) {
    std::erase_if(messages, is_shortened);
  }
}

}  // namespace

std::optional<SizeRange> MessageFigures::reserved_range() const {
  if (reserved) {
    return reserved->range();
  }
  return allocated && unallocated ? std::optional(allocated->range() + unallocated->range())
                                  : std::nullopt;
}

std::vector<OomMessage> oom_messages(const LogText& log) {
  std::vector<OomMessage> messages;
  Repetitions repetitions;
  for (const LogStream& stream : log.streams()) {
    for (const Candidate& candidate : without_overlaps(candidates_in(stream.compact))) {
      std::size_t& place = repetitions.place(
          stream.line_at(candidate.begins)->rank,
          std::string_view(stream.compact).substr(candidate.begins, candidate.match.length));
      if (place > 0) {
        ++messages[place - 1].times;
      } else {
        messages.push_back(message_of(log, stream, candidate));
        place = messages.size();
      }
    }
  }
  leave_out_shortened(messages);
  std::ranges::stable_sort(messages, {}, &OomMessage::line);
  return messages;
}

}  // namespace highwater
