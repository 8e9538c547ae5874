#include "tools/text/help_text.hpp"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace highwater {
namespace {

constexpr std::size_t kLineWidth = 100;
constexpr std::size_t kIndent = 2;
constexpr std::size_t kGap = 2;
constexpr std::size_t kWidestName = 32;   ///< longer ones have a line of their own
constexpr std::size_t kContinuation = 2;  ///< further lines of a paragraph stand in a little

std::vector<std::string> wrapped(const std::string& paragraph, std::size_t width) {
  std::istringstream words(paragraph);
  std::vector<std::string> lines{""};
  for (std::string word; words >> word;) {
    std::string& line = lines.back();
    const bool is_empty = line.find_first_not_of(' ') == std::string::npos;
    if (is_empty || line.size() + 1 + word.size() <= width) {
      line += (is_empty ? "" : " ") + word;
    } else {
      lines.push_back(std::string(kContinuation, ' ') + word);
    }
  }
  return lines;
}

std::size_t name_width(const std::vector<HelpEntry>& entries) {
  std::size_t width = 0;
  for (const HelpEntry& entry : entries) {
    width = std::max(width, std::min(entry.name.size(), kWidestName));
  }
  return width;
}

}  // namespace

std::string help_text(const std::vector<HelpEntry>& entries) {
  const std::size_t names = name_width(entries);
  const std::size_t column = kIndent + names + kGap;
  std::string text;
  for (const HelpEntry& entry : entries) {
    std::string line = std::string(kIndent, ' ') + entry.name;
    if (entry.name.size() > names) {
      text += line + "\n";
      line.clear();
    }
    for (const std::string& paragraph : entry.lines) {
      for (const std::string& part : wrapped(paragraph, kLineWidth - column)) {
        line.resize(column, ' ');
        text += line + part + "\n";
        line.clear();
      }
    }
  }
  return text;
}

}  // namespace highwater
