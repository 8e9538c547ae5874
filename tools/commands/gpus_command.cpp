// highwater gpus: the GPUs that are known by name.
#include <ostream>

#include "tools/commands/commands.hpp"
#include "tools/reports/catalog/gpu_report.hpp"

namespace highwater {

ExitCode run_gpus(const Arguments& arguments, std::ostream& out) {
  OptionParser parser(command("gpus"));
  parser.add_format();
  out << gpu_report(output_format(parser.parse(arguments)));
  return ExitCode::ok;
}

}  // namespace highwater
