#include "tools/options/memory_options.hpp"

#include <cstdlib>

#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

namespace highwater {
namespace {

namespace po = boost::program_options;

std::optional<double> read_fraction(const po::variables_map& values) {
  const auto text = text_option(values, "memory-fraction");
  if (!text) {
    return std::nullopt;
  }
  char* end = nullptr;
  const double fraction = std::strtod(text->c_str(), &end);
  if (end == text->c_str() || *end != '\0' || !(fraction >= 0 && fraction <= 1)) {
    throw UsageError(
        fmt::format("--memory-fraction {}: not a number from 0 to 1; use 0.8, for "
                    "example",
                    *text));
  }
  return fraction;
}

}  // namespace

void add_memory_options(OptionParser& parser, const char* what_without) {
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  parser.add(OptionGroup::memory)(
      "alloc-conf", text("S"),
      "settings as in PYTORCH_CUDA_ALLOC_CONF; replaces all settings of a file")(
      "capacity", text("SIZE"),
      fmt::format("memory available to the allocator, e.g. 80GiB; default: {}", what_without)
          .c_str())("memory-limit", text("SIZE"),
                    "what the process may take, as set by a memory fraction")(
      "memory-fraction", text("X"), "the same as a share of the device's memory, 0 to 1");
}

MemoryRequest read_memory_options(const po::variables_map& values,
                                  std::vector<std::string>& problems) {
  MemoryRequest memory;
  memory.alloc_conf = text_option(values, "alloc-conf");
  collect_problems(problems, [&] { memory.capacity = size_option(values, "capacity"); });
  collect_problems(problems, [&] { memory.memory_limit = size_option(values, "memory-limit"); });
  collect_problems(problems, [&] { memory.memory_fraction = read_fraction(values); });
  if (values.contains("memory-limit") && values.contains("memory-fraction")) {
    problems.emplace_back(
        "--memory-limit and --memory-fraction set the same limit; use one of them");
  }
  return memory;
}

}  // namespace highwater
