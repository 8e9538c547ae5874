#include "tools/options/reading_options.hpp"

#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "tools/files/program_file.hpp"
#include "traces/parse_text.hpp"

namespace highwater {

namespace po = boost::program_options;

void add_reading_options(OptionParser& parser) {
  const std::string help = fmt::format(
      "refuse a compressed FILE that becomes larger than N times its size plus {} MiB; default {}; "
      "none: no limit",
      ExpansionLimit::kAlways >> 20U, ExpansionLimit::kUsualTimes);
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  parser.add()("max-expansion", text("N"), help.c_str())(
      "values", text("NAME=N,..."), "values for the integers of a FILE of highwater fit (.hwp)");
}

ReadingOptions read_reading_options(const po::variables_map& values) {
  ReadingOptions options;
  if (const auto at = text_option(values, "values")) {
    options.at = parse_named_integers(*at, "--values");
  }
  const auto text = text_option(values, "max-expansion");
  if (!text) {
    return options;
  }
  options.expansion.times = *text == "none" ? std::nullopt : parse_number<std::uint64_t>(*text);
  if (*text != "none" && options.expansion.times.value_or(0) == 0) {
    throw UsageError(
        fmt::format("--max-expansion {}: expected a whole number from 1, or none", *text));
  }
  return options;
}

}  // namespace highwater
