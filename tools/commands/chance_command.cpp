// highwater chance: how a plan's memory is distributed where chance decides about its batches.
#include <ostream>

#include "tools/commands/commands.hpp"
#include "tools/options/chance_options.hpp"
#include "tools/options/fleet_options.hpp"
#include "tools/options/memory_options.hpp"
#include "tools/options/plan_options.hpp"
#include "tools/reports/chance/chance_report.hpp"

namespace highwater {

ExitCode run_chance(const Arguments& arguments, std::ostream& out) {
  OptionParser parser(command("chance"));
  add_plan_options(parser);
  add_memory_options(parser, "what --gpu leaves to it, otherwise unlimited");
  add_chance_options(parser);
  parser.add_format();
  add_fleet_options(parser);
  parser.positional("file", -1);
  const auto values = parser.parse(arguments);
  const OutputFormat format = output_format(values);
  Fleet fleet(read_fleet_options(values, "chance", arguments));
  out << chance_report(study_chance(read_chance_question(values), fleet), format);
  return ExitCode::ok;
}

}  // namespace highwater
