#include "tools/options/plan_options.hpp"

#include <boost/program_options/value_semantic.hpp>

#include "tools/options/option_help.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

/// A flag means true when it stands alone.
po::typed_value<std::string>* value_of(const Option& option) {
  auto* const value = po::value<std::string>();
  return option.is_flag() ? value->implicit_value("true", "")->value_name("[=BOOL]")
                          : value->value_name(std::string(option.value));
}

}  // namespace

void add_plan_options(OptionParser& parser) {
  for (const Option& option : option_table()) {
    const std::string name(option.name);
    parser.add(option.group)(name.c_str(), value_of(option), short_help(option).c_str());
    parser.describe(name, {option.use, full_help(option)});
  }
  parser.add_help_all();
}

OptionWords given_plan_options(const po::variables_map& values) {
  OptionWords words;
  for (const Option& option : option_table()) {
    const std::string name(option.name);
    if (const auto text = text_option(values, name)) {
      words.emplace_back(name, *text);
    }
  }
  return words;
}

PlannedRun read_plan(const po::variables_map& values, std::vector<std::string> problems,
                     PlanUse use) {
  return checked_run(given_plan_options(values), std::move(problems), use);
}

}  // namespace highwater
