#include "tools/messages/log_text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "tools/messages/message_pattern.hpp"
#include "traces/parse_text.hpp"

namespace highwater {
namespace {

bool is_digit_of_log(char c) {
  return c >= '0' && c <= '9';
}

std::size_t digits_at(std::string_view text, std::size_t at) {
  const std::size_t begin = std::min(at, text.size());
  const auto end =
      std::find_if_not(text.begin() + std::ptrdiff_t(begin), text.end(), is_digit_of_log);
  return std::size_t(end - text.begin()) - begin;
}

/// "2026-11-28", "11/28/2026", "21:04:13.123", "20261128T210413": digits that such marks join.
std::size_t time_at(std::string_view text) {
  constexpr std::string_view kJoins = "-/:.,TZ+";
  std::size_t end = digits_at(text, 0);
  if (end == 0) {
    return 0;
  }
  std::size_t joined = 0;
  while (end < text.size() && kJoins.find(text[end]) != std::string_view::npos) {
    const std::size_t digits = digits_at(text, end + 1);
    if (digits == 0) {
      return joined >= 2 ? end + (text[end] == 'Z' || text[end] == ':' ? 1 : 0) : 0;
    }
    ++joined;
    end += 1 + digits;
  }
  const bool is_day = joined == 1 && text.substr(end, 1) == " ";  // "11-28 21:04:13"
  return joined >= 2 || (is_day && time_at(text.substr(end + 1)) > 0) ? end : 0;
}

/// The number that "rank 3", "rank=3", "rank3" and "default3" name.
std::optional<int> rank_named(std::string_view label) {
  for (const std::string_view word : {"rank", "Rank", "RANK", "default"}) {
    const std::size_t found = label.find(word);
    if (found != std::string_view::npos) {
      const std::size_t begin = label.find_first_not_of(" =:_-", found + word.size());
      if (begin != std::string_view::npos) {
        return parse_number<int>(label.substr(begin, digits_at(label, begin)));
      }
    }
  }
  return std::nullopt;
}

/// "[1,3]<stderr>:", as mpirun writes with --tag-output: job and rank.
std::optional<int> rank_of_mpirun(std::string_view label) {
  const std::size_t comma = digits_at(label, 1) + 1;
  const std::size_t digits = digits_at(label, comma + 1);
  return comma > 1 && label.substr(comma, 1) == "," && label.substr(comma + 1 + digits, 1) == "]"
             ? parse_number<int>(label.substr(comma + 1, digits))
             : std::nullopt;
}

/// "[...]", or "(...)" with the number of a process: text of a message has no brackets, but
/// parentheses.
std::size_t bracket_at(std::string_view text) {
  constexpr std::size_t kLongest = 100;
  const bool is_round = text.starts_with('(');
  if (!is_round && !text.starts_with('[')) {
    return 0;
  }
  const std::size_t end = text.substr(0, kLongest).find(is_round ? ')' : ']');
  if (end == std::string_view::npos ||
      (is_round && text.substr(0, end).find("pid=") == std::string_view::npos &&
       !rank_named(text.substr(0, end)))) {
    return 0;
  }
  return end + (text.substr(end + 1, 1) == ":" ? 2 : 1);
}

/// "worker-5: ": the name of a machine, which has a digit in it, as pdsh writes it.
std::size_t host_at(std::string_view text) {
  constexpr std::size_t kLongest = 64;
  const auto is_of_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  };
  const std::string_view front = text.substr(0, kLongest);
  const auto end = std::ranges::find_if_not(front, is_of_name);
  const auto length = std::size_t(end - front.begin());
  const bool has_digit = std::any_of(front.begin(), end, is_digit_of_log);
  return has_digit && text.substr(length, 2) == ": " ? length + 1 : 0;
}

/// "3: ", "rank3:": a number or word with a colon that is no part of a message.
std::size_t labelled_at(std::string_view text) {
  const std::size_t digits = digits_at(text, 0);
  if (digits > 0 && digits < 6 && text.substr(digits, 2) == ": ") {
    return digits + 1;  // srun --label
  }
  if (text.starts_with("rank") || text.starts_with("Rank")) {
    const std::size_t begin = text.substr(4, 1) == " " ? 5 : 4;
    const std::size_t end = begin + digits_at(text, begin);
    return end > begin && text.substr(end, 1) == ":" ? end + 1 : 0;
  }
  return 0;
}

std::size_t level_at(std::string_view text) {
  for (const std::string_view level :
       {"INFO", "ERROR", "WARNING", "WARN", "CRITICAL", "DEBUG", "FATAL", "stderr", "stdout"}) {
    if (text.starts_with(level)) {
      return level.size() + (text.substr(level.size(), 1) == ":" ? 1 : 0);
    }
  }
  return 0;
}

/// "<stderr>:", "- ", "|" and spaces between the parts.
std::size_t joint_at(std::string_view text) {
  if (const std::size_t sequence = terminal_sequence(text)) {
    return sequence;
  }
  for (const std::string_view joint : {"<stderr>:", "<stdout>:"}) {
    if (text.starts_with(joint)) {
      return joint.size();
    }
  }
  return std::string_view(" \t-|>#\"").find(text.front()) != std::string_view::npos ? 1 : 0;
}

void note_label(std::string_view part, LinePrefix& prefix) {
  const auto rank = part.starts_with('[') && rank_of_mpirun(part) ? rank_of_mpirun(part)
                    : is_digit_of_log(part.front())
                        ? parse_number<int>(part.substr(0, part.size() - 1))
                        : rank_named(part);
  const bool names_process = rank || part.find("pid=") != std::string_view::npos;
  if (names_process && !prefix.rank) {
    prefix.label = part;
    prefix.rank = rank;
  }
}

std::string from_utf16(std::string_view text) {
  std::string result;
  for (std::size_t i = 2; i + 1 < text.size(); i += 2) {
    result += text[i + 1] == 0 ? text[i] : '?';
  }
  return result;
}

std::string decoded(std::string text) {
  if (text.starts_with("\xff\xfe")) {
    return from_utf16(text);
  }
  return text.starts_with("\xef\xbb\xbf") ? text.substr(3) : std::move(text);
}

}  // namespace

LinePrefix prefix_of(std::string_view line) {
  constexpr std::size_t kLongest = 300;
  constexpr std::size_t kLongestTime = 60;
  LinePrefix prefix;
  while (prefix.length < std::min(line.size(), kLongest)) {
    const std::string_view rest = line.substr(prefix.length);
    std::size_t length = joint_at(rest);
    length = length > 0 ? length : std::max(time_at(rest.substr(0, kLongestTime)), level_at(rest));
    if (length == 0) {
      length = std::max({bracket_at(rest), labelled_at(rest), host_at(rest)});
      if (length == 0) {
        break;
      }
      note_label(rest.substr(0, length), prefix);
    }
    prefix.length += length;
  }
  return prefix;
}

LogStream::LineIterator LogStream::line_at(std::size_t position) const {
  return std::prev(std::ranges::upper_bound(lines, position, {}, &Line::begins));
}

LogText::LogText(std::string text) : text_(decoded(std::move(text))) {
  std::string_view rest = text_;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    lines_.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  add_lines();
}

void LogText::add_lines() {
  constexpr std::size_t kMostLabels = 10000;  // those of more processes go together
  std::unordered_map<std::string_view, LogStream*> by_label;
  LogStream* stream = nullptr;
  for (std::size_t number = 0; number < lines_.size(); ++number) {
    const LinePrefix prefix = prefix_of(lines_[number]);
    if (!prefix.label.empty() || stream == nullptr) {
      const bool is_full = by_label.size() >= kMostLabels;
      LogStream*& found =
          by_label[is_full && !by_label.contains(prefix.label) ? std::string_view() : prefix.label];
      stream = found = found == nullptr ? &streams_.emplace_back() : found;
    }
    const std::size_t begins = stream->compact.size();
    append_compact(lines_[number].substr(prefix.length), stream->compact);
    if (stream->compact.size() > begins) {
      stream->lines.push_back({begins, number, prefix.rank});
    }
  }
}

std::string LogText::words(const LogStream& stream, CompactSpan span) const {
  std::string words;
  const auto end = std::next(stream.line_at(span.ends - 1));
  for (auto line = stream.line_at(span.begins); line != end && words.size() < kLongestWords;
       ++line) {
    std::string_view text = lines_[line->number];
    text.remove_prefix(prefix_of(text).length);
    words += (words.empty() ? "" : " ") + std::string(text.substr(0, kLongestWords - words.size()));
  }
  std::erase(words, '\r');
  return words;
}

}  // namespace highwater
