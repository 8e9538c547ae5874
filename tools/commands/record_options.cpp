#include "tools/commands/record_options.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "tools/commands/commands.hpp"
#include "tools/options/memory_options.hpp"
#include "tools/options/output_option.hpp"
#include "tools/options/plan_options.hpp"
#include "tools/record/record_request.hpp"
#include "traces/error.hpp"
#include "traces/parse_text.hpp"
#include "workloads/plan/options/option_table.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

OptionParser record_options() {
  OptionParser parser(command("record"));
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  parser.add()("gpu", text("NAME|SIZE"),
               "the GPU that the script sees, or its memory; default: a100-80")(
      "capacity", text("SIZE"), "memory for the allocator, instead of the GPU's own")(
      "world", text("N"), "ranks of a distributed script; only one of them runs")(
      "rank", text("R"), "which rank runs; default: 0")("steps", text("N"),
                                                        "stop the script and the recording after N "
                                                        "optimizer steps")(
      "finish-step",
      "with --steps: after the last of them, the script goes on to its next forward pass, so that "
      "it reports that step itself")(
      "output,o", output_value("FILE"),
      "the snapshot to write; compressed if it ends in .xz; default: "
      "record.pickle")("stacks", text("none|python|all"),
                       "call stacks of allocations; default: python")(
      "answers", text("NAME=VALUE,..."),
      "values that the script reads from the device instead of zeros: nonzero=COUNT, or below 1 "
      "the share that nonzero and masks select; item=VALUE for item() and similar calls")(
      "moe-load", text("even|busiest:X|zipf:S|FILE"),
      "which experts a router chooses: all equally often (default), one X times as often as the "
      "mean, expert i in proportion to 1 / i^S, or by the shares in FILE, one number for each "
      "expert")(
      "cudnn", text("FOLDER"),
      "where libcudnn.so.9 lies that is asked for the workspaces of cuDNN's plans (9.8 or later); "
      "default: the one that the script's PyTorch was installed with")(
      "event-lag", text("N"),
      "how many kernel launches the device lags behind the host, which delays the reuse of blocks "
      "used on several streams; default: 0");
  parser.add_format();
  return parser;
}

std::string stacks_option(const std::string& value) {
  constexpr std::array<std::string_view, 3> kKinds{"none", "python", "all"};
  if (std::ranges::find(kKinds, value) == kKinds.end()) {
    throw UsageError("--stacks " + value + ": unknown choice; use none, python or all");
  }
  return value;
}

bool is_answer(std::string_view part) {
  const std::size_t equals = part.find('=');
  const std::string_view name = part.substr(0, equals);
  if (equals == std::string_view::npos || (name != "nonzero" && name != "item")) {
    return false;
  }
  const std::string value(part.substr(equals + 1));
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  return !value.empty() && *end == '\0' && std::isfinite(number) && (name == "item" || number >= 0);
}

std::string answers_option(const std::string& value) {
  for (std::size_t begin = 0; begin <= value.size();) {
    const std::size_t end = std::min(value.find(',', begin), value.size());
    if (!is_answer(std::string_view(value).substr(begin, end - begin))) {
      throw UsageError("--answers " + value + ": unknown answer; use nonzero=COUNT or item=VALUE");
    }
    begin = end + 1;
  }
  return value;
}

/// As the recorder takes it: the shares themselves in the place of their file.
std::string moe_load_option(const std::string& text) {
  TrainingPlan plan;
  if (const Complaint complaint = option_called("moe-load").set(plan, text)) {
    throw UsageError(fmt::format("--moe-load {}: {}", text, *complaint));
  }
  const std::vector<double>& shares = plan.moe_load.shares;
  return shares.empty() ? text : fmt::format("{}", fmt::join(shares, ","));
}

std::string cudnn_option(const po::variables_map& values) {
  const auto folder = text_option(values, "cudnn");
  if (folder && !std::filesystem::exists(std::filesystem::path(*folder) / "libcudnn.so.9")) {
    throw UsageError(
        fmt::format("--cudnn {}: no libcudnn.so.9 in it; name the folder of NVIDIA's library, as "
                    "site-packages/nvidia/cudnn/lib after pip install nvidia-cudnn-cu13",
                    *folder));
  }
  return folder.value_or("");
}

/// Boost would read -1 as the largest number.
template <class Number>
Number number_option(const po::variables_map& values, const char* option, Number otherwise) {
  const auto text = text_option(values, option);
  if (!text) {
    return otherwise;
  }
  const auto number = parse_number<Number>(*text);
  if (!number) {
    throw UsageError(fmt::format("--{} {}: not in range; use a whole number from 0 to {}", option,
                                 *text, std::numeric_limits<Number>::max()));
  }
  return *number;
}

void require_rank_in_world(const RecordRequest& request) {
  if (request.rank != 0 && request.rank >= request.world) {
    throw UsageError(
        fmt::format("--rank {}: not below the number of ranks, {} (--world); use a smaller number",
                    request.rank, std::max(request.world, 1U)));
  }
}

RecordRequest read_options(const po::variables_map& values) {
  RecordRequest request;
  std::vector<std::string> problems;
  collect_problems(problems, [&] {
    if (const auto name = text_option(values, "gpu")) {
      request.gpu = gpu_called(*name);
    }
  });
  collect_problems(problems, [&] { request.cudnn = cudnn_option(values); });
  collect_problems(problems, [&] { request.capacity = size_option(values, "capacity"); });
  collect_problems(problems, [&] {
    request.stacks = stacks_option(text_option(values, "stacks").value_or(request.stacks));
  });
  collect_problems(problems, [&] {
    if (const auto answers = text_option(values, "answers")) {
      request.answers = answers_option(*answers);
    }
  });
  collect_problems(problems, [&] {
    request.moe_load = moe_load_option(text_option(values, "moe-load").value_or(request.moe_load));
  });
  collect_problems(problems, [&] {
    request.world = number_option(values, "world", request.world);
    request.rank = number_option(values, "rank", request.rank);
    require_rank_in_world(request);
  });
  collect_problems(problems,
                   [&] { request.steps = number_option(values, "steps", request.steps); });
  collect_problems(
      problems, [&] { request.event_lag = number_option(values, "event-lag", request.event_lag); });
  request.finish_step = values.contains("finish-step");
  request.output = output_option(values, "output").value_or(request.output);
  request.format = output_format(values);
  if (!problems.empty()) {
    throw UsageErrors(std::move(problems));
  }
  return request;
}

/// The command, where "--" was forgotten in front of it: the first word that is neither an option
/// nor the value of one. Nothing if there is no such word.
std::optional<std::string> command_among(const Arguments& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].starts_with("-")) {
      return fmt::format("{}", fmt::join(arguments.begin() + static_cast<std::ptrdiff_t>(i),
                                         arguments.end(), " "));
    }
    const bool takes_next = arguments[i] != "--help" && arguments[i] != "--finish-step" &&
                            arguments[i].find('=') == std::string::npos;
    i += takes_next ? 1 : 0;
  }
  return std::nullopt;
}

void require_separator(const Arguments& arguments) {
  if (const auto command = command_among(arguments)) {
    throw UsageError(fmt::format(
        "the command must follow after \"--\"; write highwater record ... -- {}", *command));
  }
}

}  // namespace

RecordRequest read_record_request(const Arguments& arguments) {
  const auto separator = std::ranges::find(arguments, "--");
  if (separator == arguments.end()) {
    require_separator(arguments);
  }
  RecordRequest request = read_options(record_options().parse({arguments.begin(), separator}));
  if (separator == arguments.end() || separator + 1 == arguments.end()) {
    throw UsageError(
        "missing command; write e.g. highwater record --gpu h100-80 -- python3 train.py");
  }
  request.command.assign(separator + 1, arguments.end());
  return request;
}

}  // namespace highwater
