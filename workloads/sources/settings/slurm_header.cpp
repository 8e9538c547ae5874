#include "workloads/sources/settings/slurm_header.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

namespace highwater {
namespace {

struct SlurmOption {
  std::string_view name;
  std::string_view letter;  ///< its short form; empty: none
  std::vector<std::string_view> variables;
};

const std::array<SlurmOption, 5>& options() {
  static const std::array<SlurmOption, 5> kOptions{
      SlurmOption{"--nodes", "-N", {"SLURM_JOB_NUM_NODES", "SLURM_NNODES"}},
      SlurmOption{"--ntasks", "-n", {"SLURM_NTASKS", "SLURM_NPROCS"}},
      SlurmOption{"--ntasks-per-node", "", {"SLURM_NTASKS_PER_NODE"}},
      SlurmOption{"--gpus-per-node", "", {"SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"}},
      SlurmOption{"--gres", "", {"SLURM_GPUS_ON_NODE"}},
  };
  return kOptions;
}

/// "8" of "8", "gpu:8" and "gpu:h100:8"; empty for what is no number ("1-4").
std::string count_in(std::string_view value) {
  const std::string_view last = value.substr(value.rfind(':') + 1);
  const bool is_number = !last.empty() && std::ranges::all_of(last, [](unsigned char c) {
    return std::isdigit(c) != 0;
  });
  return is_number ? std::string(last) : std::string();
}

void read_option(std::string_view name, std::string_view value, ShellEnvironment& variables) {
  const auto option = std::ranges::find_if(options(), [&](const SlurmOption& row) {
    return row.name == name || (!row.letter.empty() && row.letter == name);
  });
  const std::string count = count_in(value);
  if (option == options().end() || count.empty() ||
      (name == "--gres" && !value.starts_with("gpu:"))) {
    return;
  }
  for (const std::string_view variable : option->variables) {
    variables.insert_or_assign(std::string(variable), count);
  }
}

std::string_view first_word(std::string_view text) {
  return text.substr(0, text.find_first_of(" \t\r"));
}

std::string_view without_blanks(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
}

/// "--nodes=2", "--nodes 2", "-N 2", with a comment behind it perhaps.
void read_line(std::string_view line, ShellEnvironment& variables) {
  const std::string_view words = without_blanks(line);
  const std::string_view word = first_word(words);
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) {
    read_option(word, first_word(without_blanks(words.substr(word.size()))), variables);
  } else {
    read_option(word.substr(0, equals), word.substr(equals + 1), variables);
  }
}

}  // namespace

ShellEnvironment slurm_variables(std::string_view script) {
  constexpr std::string_view kMark = "#SBATCH";
  ShellEnvironment variables;
  for (std::size_t at = 0; at < script.size();) {
    const std::size_t end = std::min(script.find('\n', at), script.size());
    const std::string_view line = script.substr(at, end - at);
    if (line.starts_with(kMark)) {
      read_line(line.substr(kMark.size()), variables);
    }
    at = end + 1;
  }
  return variables;
}

}  // namespace highwater
