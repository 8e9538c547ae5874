#include "tools/options/workload_question.hpp"

#include <algorithm>

#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "tools/options/memory_options.hpp"
#include "tools/options/workload_options.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

OptionParser option_parser(const Command& command) {
  OptionParser parser(command);
  add_workload_options(parser);
  parser.add()("top", po::value<std::int64_t>()->default_value(8)->value_name("N"),
               "rows of each list");
  if (command.name == "advise") {
    parser.add(OptionGroup::memory)(
        "try", po::value<Arguments>()->composing()->value_name("S"),
        "settings to be compared with, as in PYTORCH_CUDA_ALLOC_CONF; can be repeated");
  }
  parser.add_format();
  return parser;
}

}  // namespace

WorkloadQuestion read_question(const Command& command, const Arguments& arguments) {
  const po::variables_map values = option_parser(command).parse(arguments);
  WorkloadQuestion result;
  std::vector<std::string> problems;
  collect_problems(problems, [&] { result.format = output_format(values); });
  const auto top = values["top"].as<std::int64_t>();
  if (top < 1) {
    problems.push_back(fmt::format("--top {}: not a number of rows; use 1 or more", top));
  }
  result.top = static_cast<std::size_t>(std::max<std::int64_t>(top, 1));
  if (values.contains("try")) {
    result.settings = values["try"].as<Arguments>();
  }
  result.workload = read_workload_options(values, std::move(problems));
  return result;
}

}  // namespace highwater
