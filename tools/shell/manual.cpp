#include "tools/shell/manual.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace highwater {
namespace {

/// Text that roff prints as it is: a backslash, a hyphen that may be copied, and no line that
/// begins with a request (man-pages(7), groff_char(7)).
std::string plain(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '\\':
        result += "\\e";
        break;
      case '-':
        result += "\\-";
        break;
      case '\'':
        result += "\\(aq";
        break;
      default:
        result += c;
    }
  }
  return result.starts_with('.') ? "\\&" + result : result;
}

std::string option_text(const OptionWordsOf& option, std::string_view more = {}) {
  std::string text = fmt::format(".TP\n\\fB\\-\\-{}\\fR", plain(option.name));
  if (!option.value.empty()) {
    text += fmt::format(" \\fI{}\\fR", plain(option.value));
  }
  return fmt::format("{}\n{}{}\n", text, plain(option.help), more);
}

/// An option that several commands have, with the same words.
struct SharedOption {
  const OptionWordsOf* option;
  std::vector<std::string_view> commands;
};

/// What more commands than this have is described once.
constexpr std::size_t kFewCommands = 2;

std::vector<SharedOption> all_options(std::span<const CommandWords> commands) {
  std::vector<SharedOption> all;
  for (const CommandWords& command : commands) {
    for (const OptionWordsOf& option : command.options) {
      const auto same = std::ranges::find_if(all, [&](const SharedOption& each) {
        return each.option->name == option.name && each.option->help == option.help;
      });
      if (same == all.end()) {
        all.push_back({&option, {command.name}});
      } else {
        same->commands.push_back(command.name);
      }
    }
  }
  return all;
}

std::string command_text(const CommandWords& command, const std::vector<SharedOption>& options) {
  std::string text = fmt::format(
      ".SS \"highwater {} {}\"\n{}\n.PP\nExample:\n.PP\n.nf\n.RS\n{}\n.RE\n.fi\n", command.name,
      plain(command.arguments), plain(command.description), plain(command.example));
  for (const SharedOption& each : options) {
    if (each.commands.size() <= kFewCommands &&
        std::ranges::find(each.commands, command.name) != each.commands.end()) {
      text += option_text(*each.option);
    }
  }
  return text;
}

std::string shared_text(const std::vector<SharedOption>& options, std::size_t command_count) {
  std::string text;
  for (const SharedOption& each : options) {
    if (each.commands.size() > kFewCommands) {
      text +=
          option_text(*each.option, each.commands.size() == command_count
                                        ? std::string()
                                        : fmt::format("\n({})", fmt::join(each.commands, ", ")));
    }
  }
  return text;
}

}  // namespace

std::string manual_page(std::string_view version, std::span<const CommandWords> commands) {
  std::string page = fmt::format(
      ".TH HIGHWATER 1 \"\" \"highwater {}\" \"User Commands\"\n.SH NAME\nhighwater \\- GPU memory "
      "of PyTorch training, simulated, replayed and explained\n.SH SYNOPSIS\n.B highwater\n"
      "\\fICOMMAND\\fR [\\fIOPTION\\fR]...\n.SH DESCRIPTION\nSimulates what training with PyTorch "
      "takes of a GPU's memory, replays recordings through a model of PyTorch\\(aqs caching "
      "allocator, and explains why memory ran out. No GPU is needed.\n.SH COMMANDS\n",
      version);
  const std::vector<SharedOption> options = all_options(commands);
  for (const CommandWords& command : commands) {
    page += command_text(command, options);
  }
  return page + ".SH OPTIONS OF SEVERAL COMMANDS\n" + shared_text(options, commands.size()) +
         ".SH EXIT STATUS\n.TP\n0\nsuccess\n.TP\n1\na budget is exceeded, or a comparison "
         "failed\n.TP\n2\nwrong usage\n.TP\n3\nbad input, or output that cannot be "
         "written\n.TP\n4\ninternal error\n.SH ENVIRONMENT\n.TP\nHIGHWATER_CACHE\nThe folder of "
         "what is kept between runs: runs of PyTorch, and answers of cuDNN. Empty: nothing is "
         "kept. Without it, $XDG_CACHE_HOME/highwater or ~/.cache/highwater.\n";
}

}  // namespace highwater
