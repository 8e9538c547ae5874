#include "tools/edits/edit_words.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/edits/capture_words.hpp"
#include "traces/edit_distance.hpp"
#include "traces/error.hpp"
#include "traces/parse_text.hpp"
#include "traces/units.hpp"

namespace highwater {
namespace {

// More than any GPU has; a slip in the unit would otherwise be carried out.
constexpr std::uint64_t kLargestSize = std::uint64_t{1} << 40;
constexpr double kLargestFactor = 1e6;

[[noreturn]] void refuse(const std::string& text, std::size_t position,
                         const std::string& problem) {
  throw UsageError(fmt::format("edit '{}': character {}: {}", text, position + 1, problem));
}

std::vector<std::string> names_of_kinds() {
  std::vector<std::string> names;
  for (const EditKind& kind : edit_kinds()) {
    names.emplace_back(kind.name);
  }
  return names;
}

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

/// "did you mean X?", or all there are.
std::string suggestion(std::string_view word, const std::vector<std::string>& known) {
  const auto meant = nearest_word(word, known);
  return meant ? fmt::format("did you mean {}?", *meant) : "use one of " + joined(known);
}

/// Whether `part` is a word of small letters with `separator` behind it.
bool is_word_before(std::string_view part, char separator) {
  const std::size_t end = part.find(separator);
  return end != std::string_view::npos && end > 0 &&
         std::ranges::all_of(part.substr(0, end),
                             [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

/// "by=100"
bool is_keyed(std::string_view part) {
  return is_word_before(part, '=');
}

struct Part {
  std::size_t position = 0;
  std::string text;
};

/// At commas in front of "key=": others belong to a value, as in the names of C++ functions.
std::vector<Part> parts_of(const std::string& text, std::size_t begin) {
  std::vector<Part> parts;
  std::size_t position = begin;
  for (const std::string& piece : split(std::string_view(text).substr(begin), ',')) {
    if (parts.empty() || is_keyed(piece)) {
      parts.push_back({position, piece});
    } else {
      parts.back().text += "," + piece;
    }
    position += piece.size() + 1;
  }
  return parts;
}

const EditParameter& parameter_called(const EditKind& kind, std::string_view key,
                                      const std::string& text, std::size_t position) {
  std::vector<std::string> known;
  for (const EditParameter& parameter : kind.parameters) {
    if (parameter.key == key) {
      return parameter;
    }
    known.emplace_back(parameter.key);
  }
  refuse(text, position, fmt::format("{} has no '{}'; {}", kind.name, key, suggestion(key, known)));
}

bool is_word_of(std::string_view words, std::string_view value) {
  return std::ranges::count(split(words, ' '), value) != 0;
}

std::optional<std::string> complaint_of_size(const std::string& value, EditValueKind kind) {
  const auto size = parse_bytes(value);
  const bool may_be_zero = kind == EditValueKind::amount;
  if (!size || (size->count() == 0 && !may_be_zero)) {
    return "not a size; write 20GiB, 512MiB or bytes";
  }
  if (size->count() > kLargestSize) {
    return fmt::format("more than any GPU has; write {} or less", to_iec(Bytes{kLargestSize}));
  }
  return std::nullopt;
}

/// What is wrong with the value, if anything is.
std::optional<std::string> complaint(const EditParameter& parameter, const std::string& value) {
  const auto number = parse_number<std::uint64_t>(value);
  switch (parameter.kind) {
    case EditValueKind::size:
    case EditValueKind::amount:
      return complaint_of_size(value, parameter.kind);
    case EditValueKind::number:
      return number ? std::nullopt : std::optional<std::string>("not a whole number");
    case EditValueKind::count:
      return number && *number > 0 ? std::nullopt
                                   : std::optional<std::string>("not a whole number from 1 on");
    case EditValueKind::factor: {
      const auto factor = parse_number<double>(value);
      return factor && *factor >= 0 && *factor <= kLargestFactor
                 ? std::nullopt
                 : std::optional<std::string>("not a factor; write 0.5, 2 or 0");
    }
    case EditValueKind::pool:
      return value == "default" || (number && *number > 0)
                 ? std::nullopt
                 : std::optional<std::string>("not a pool; write a number from 1 on, or default");
    case EditValueKind::word:
      return is_word_of(parameter.words, value)
                 ? std::nullopt
                 : std::optional(
                       fmt::format("unknown; {}", suggestion(value, split(parameter.words, ' '))));
    case EditValueKind::captures:
      return is_word_of(parameter.words, value) || parse_capture_lists(value)
                 ? std::nullopt
                 : std::optional(fmt::format("write one of {}, or numbers of captures: 3+1+2",
                                             joined(split(parameter.words, ' '))));
    case EditValueKind::site:
    case EditValueKind::file:
      return value.empty() ? std::optional<std::string>("nothing is named") : std::nullopt;
  }
  return std::nullopt;
}

void read_part(const Part& part, bool is_first, EditWords& words) {
  const bool keyed = is_keyed(part.text) && (!is_first || words.kind->parameters.size() > 1 ||
                                             part.text.starts_with(words.kind->parameters[0].key));
  const std::size_t equals = part.text.find('=');
  if (!keyed && !is_first) {
    refuse(words.text, part.position, fmt::format("'{}': write key=value", part.text));
  }
  const EditParameter& parameter =
      keyed ? parameter_called(*words.kind, std::string_view(part.text).substr(0, equals),
                               words.text, part.position)
            : words.kind->parameters.front();
  const std::size_t offset = keyed ? equals + 1 : 0;
  const std::string value = part.text.substr(offset);
  if (const auto wrong = complaint(parameter, value)) {
    refuse(words.text, part.position + offset,
           fmt::format("{} '{}': {}", parameter.key, value, *wrong));
  }
  if (!words.values.emplace(parameter.key, value).second) {
    refuse(words.text, part.position, fmt::format("{} is given twice", parameter.key));
  }
}

void require_all(const EditWords& words) {
  for (const EditParameter& parameter : words.kind->parameters) {
    if (parameter.need == EditNeed::required && words.find(parameter.key) == nullptr) {
      refuse(words.text, words.text.size(),
             fmt::format("{} is missing; write {}", parameter.key, words.kind->form));
    }
  }
}

/// What no single parameter shows.
void check_together(const EditWords& words) {
  const auto has = [&](std::string_view key) { return words.find(key) != nullptr; };
  if (words.kind->name == "move" && has("stream") == has("pool")) {
    refuse(words.text, words.text.size(),
           fmt::format("say where the blocks go, by stream or pool; write {}", words.kind->form));
  }
  if (words.kind->name == "empty_cache" && has("of") && !has("every")) {
    refuse(words.text, words.text.size(), "every is missing; write every=N,of=allocations");
  }
}

}  // namespace

bool follows_times(const EditWords& words) {
  return words.kind->name == "beside";
}

EditWords read_edit(const std::string& text) {
  const std::size_t colon = text.find(':');
  EditWords words;
  words.text = text;
  words.kind = find_edit_kind(std::string_view(text).substr(0, colon));
  if (words.kind == nullptr) {
    const std::string name = text.substr(0, colon);
    refuse(text, 0, fmt::format("unknown edit; {}", suggestion(name, names_of_kinds())));
  }
  if (colon != std::string::npos) {
    bool is_first = true;
    for (const Part& part : parts_of(text, colon + 1)) {
      read_part(part, std::exchange(is_first, false), words);
    }
  }
  require_all(words);
  check_together(words);
  return words;
}

std::vector<std::string> split_edits(std::string_view text) {
  std::vector<std::string> edits;
  for (const std::string& piece : split(text, ',')) {
    const std::string_view name = std::string_view(piece).substr(0, piece.find(':'));
    const bool begins = find_edit_kind(name) != nullptr || piece == kNoEdit || edits.empty() ||
                        is_word_before(piece, ':');
    if (begins) {
      edits.push_back(piece);
    } else {
      edits.back() += "," + piece;
    }
  }
  return edits;
}

}  // namespace highwater
