#include "tools/commands/diff_request.hpp"

#include <utility>

#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "tools/commands/commands.hpp"
#include "tools/options/budget_options.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

void add_side_options(OptionParser& parser, const std::string& side, const std::string& file) {
  const auto add = [&](const std::string& name, const char* value, const std::string& text) {
    parser.add()((name + "-" + side).c_str(), po::value<std::string>()->value_name(value),
                 text.c_str());
  };
  add("alloc-conf", "S",
      fmt::format("replay {}{} under these settings, as in PYTORCH_CUDA_ALLOC_CONF", file,
                  file == "B" ? " (without a second file: A again)" : ""));
  add("capacity", "SIZE", fmt::format("with this much memory for the allocator of {}", file));
  add("memory-limit", "SIZE", fmt::format("with this much memory for the process of {}", file));
  add("torch", "V", fmt::format("replay {} with the allocator of this PyTorch release", file));
}

OptionParser option_parser() {
  OptionParser parser(command("diff"));
  const auto count = [](std::int64_t by_default) {
    return po::value<std::int64_t>()->default_value(by_default)->value_name("N");
  };
  parser.add()("view", po::value<std::string>()->value_name("V"),
               "peak: what changes the reserved peak; blocks: sizes and call sites alive at one "
               "peak of requested bytes and not at the other; requests: the aligned requests; all");
  add_side_options(parser, "a", "A");
  add_side_options(parser, "b", "B");
  for (const char* name : {"engine", "python"}) {
    const Option& option = option_called(name);
    parser.add()(
        name, po::value<std::string>()->value_name(std::string(option.value)),
        (std::string(option.help) + " (one recording, compared with its simulation)").c_str());
  }
  parser.add()("device", po::value<int>()->value_name("N"), "only this device (peak)")(
      "top", count(10), "rows of each list (peak)")(
      "step", po::value<std::int64_t>()->value_name("N"), "only this step (requests)")(
      "phase", po::value<std::string>()->value_name("P"),
      "only this phase: init, zero_grad, data, forward (with loss), backward, clip, optimizer, "
      "empty_cache")("context", count(3), "equal requests shown around a difference")(
      "max-hunks", count(5), "differences shown in full")("max-lines", count(60),
                                                          "lines shown of each difference")(
      "ignore-free-order", "ignore the order of frees that have no allocation between them")(
      "fail-above", po::value<std::string>()->value_name("P"),
      "exit with 1 if B's peak reserved exceeds A's by more than P, such as 5% or 64MiB");
  parser.add()("format", po::value<std::string>()->default_value("table")->value_name("F"),
               "table or json");
  add_reading_options(parser);
  parser.note("view", {"default: all; requests for CASE.json and with --step or --phase; peak for "
                       "one file under other settings, whose requests are the same; requests and "
                       "blocks for a recording of highwater record, which is compared with the "
                       "simulation of the plan that it carries"});
  parser.note("format", {"the exit code is 0 even if the traces differ: a difference is an "
                         "answer, not a failure, unless --fail-above says so"});
  parser.positional("files", -1);
  return parser;
}

std::size_t count_option(const po::variables_map& values, const std::string& name,
                         std::int64_t least = 0) {
  const auto number = values[name].as<std::int64_t>();
  if (number < least) {
    throw UsageError(
        fmt::format("--{} {}: not a valid count; use {} or more", name, number, least));
  }
  return static_cast<std::size_t>(number);
}

DiffSideRequest read_side_options(const po::variables_map& values, const std::string& path,
                                  const std::string& side) {
  DiffSideRequest request{path, {}, text_option(values, "torch-" + side)};
  request.memory.alloc_conf = text_option(values, "alloc-conf-" + side);
  request.memory.capacity = size_option(values, "capacity-" + side);
  request.memory.memory_limit = size_option(values, "memory-limit-" + side);
  return request;
}

void read_sides(const po::variables_map& values, DiffRequest& request) {
  const auto files = values.contains("files") ? values["files"].as<Arguments>() : Arguments{};
  if (files.empty() || files.size() > 2) {
    throw UsageError(
        "diff takes two traces, or one recording to compare with its simulation: a recorded case "
        "X.json, or a recording of highwater record, which carries its plan; see "
        "highwater diff --help");
  }
  request.first = read_side_options(values, files.front(), "a");
  DiffSideRequest second = read_side_options(values, files.back(), "b");
  if (files.size() == 2 || request.first.has_settings() || second.has_settings()) {
    request.second = std::move(second);
  }
}

OptionWords given_words(const po::variables_map& values) {
  OptionWords words;
  for (const char* name : {"engine", "python"}) {
    if (const auto text = text_option(values, name)) {
      words.emplace_back(name, *text);
    }
  }
  return words;
}

void read_view(const po::variables_map& values, DiffRequest& request) {
  const bool is_same = request.second && request.second->path == request.first.path;
  const bool has_settings =
      request.first.has_settings() || (request.second && request.second->has_settings());
  const bool is_filtered = values.contains("step") || values.contains("phase");
  const std::string by_default = is_filtered               ? "requests"
                                 : !request.second         ? "all"
                                 : is_same && has_settings ? "peak"
                                                           : "all";
  const std::string view = text_option(values, "view").value_or(by_default);
  if (view != "peak" && view != "blocks" && view != "requests" && view != "all") {
    throw UsageError(
        fmt::format("--view {}: unknown view; use peak, blocks, requests or all", view));
  }
  request.shows_peak = view == "peak" || (view == "all" && request.second);
  request.shows_requests = view == "requests" || view == "all";
  request.shows_blocks = view == "blocks" || view == "all";
  if (request.shows_peak && !request.second) {
    throw UsageError(
        fmt::format("--view {} needs a second file, or settings for the same one "
                    "(--alloc-conf-b, --capacity-b, --torch-b)",
                    view));
  }
  request.engine = given_words(values);
  if (request.second && !request.engine.empty()) {
    throw UsageError(
        "--engine and --python simulate the second side; with two files nothing is simulated");
  }
  if (has_settings && !request.shows_peak) {
    throw UsageError(
        "settings and limits of a side change its peak, not its requests; omit them, or use "
        "--view peak");
  }
}

void read_budget(const po::variables_map& values, DiffRequest& request) {
  std::vector<std::string> problems;
  request.fail_above = growth_option(values, "fail-above", problems);
  if (request.fail_above && !request.shows_peak) {
    problems.emplace_back("--fail-above compares peaks; add --view peak, or omit it");
  }
  if (!problems.empty()) {
    throw UsageErrors(std::move(problems));
  }
}

}  // namespace

DiffRequest read_diff_request(const Arguments& arguments) {
  const po::variables_map values = option_parser().parse(arguments);
  DiffRequest request;
  read_sides(values, request);
  read_view(values, request);
  read_budget(values, request);
  if (values.contains("device")) {
    request.device = values["device"].as<int>();
  }
  request.reading = read_reading_options(values);
  request.top = count_option(values, "top", 1);
  if (values.contains("step")) {
    request.view.step = count_option(values, "step");
  }
  request.view.phase = text_option(values, "phase");
  request.view.context = count_option(values, "context");
  request.view.max_hunks = count_option(values, "max-hunks");
  request.view.max_lines = count_option(values, "max-lines");
  request.options.free_order =
      values.contains("ignore-free-order") ? FreeOrder::ignored : FreeOrder::counts;
  request.format = output_format(values);
  if (request.format == OutputFormat::csv || request.format == OutputFormat::markdown) {
    throw UsageError("diff supports only --format table and json; use one of them");
  }
  return request;
}

}  // namespace highwater
