// highwater merge: the parts of a run in shards as the answer of the whole run.
//
// The command of the parts runs once more, and takes the results of its pieces from them.
#include <ostream>

#include "tools/commands/commands.hpp"
#include "tools/fleet/file_stores.hpp"
#include "tools/fleet/fleet.hpp"

namespace highwater {

ExitCode run_merge(const Arguments& arguments, std::ostream& out) {
  OptionParser parser(command("merge"));
  parser.positional("part", -1);
  const auto values = parser.parse(arguments);
  if (!values.contains("part")) {
    throw UsageError("merge takes the parts of all shards; see highwater merge --help");
  }
  PartFiles parts(values["part"].as<Arguments>());
  const MergeScope scope(parts);
  return run_command(parts.run().arguments, out);
}

}  // namespace highwater
