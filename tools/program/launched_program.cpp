#include "tools/program/launched_program.hpp"

#include <algorithm>
#include <array>
#include <sstream>

#include "sim/replay/parallel.hpp"
#include "tools/fleet/crew.hpp"
#include "tools/fleet/launcher.hpp"
#include "tools/program/program.hpp"
#include "tools/text/progress_line.hpp"

namespace highwater {
namespace {

/// Others run as often as they were started: `record` beside each rank of a training job.
constexpr std::array<std::string_view, 6> kShared{"sweep",  "scan",     "plan",
                                                  "chance", "validate", "simulate"};

bool shares_work(const Arguments& arguments) {
  return !arguments.empty() && std::ranges::find(kShared, arguments.front()) != kShared.end() &&
         launched_processes() > 1;
}

/// Rank 0 says what is wrong once; what only another rank finds wrong, it is told.
ExitCode follow(const Arguments& arguments, Crew& crew) {
  limit_threads(1);
  show_progress(ProgressView::hidden);
  std::ostringstream out;
  std::ostringstream err;
  if (run_program(arguments, out, err) != ExitCode::ok) {
    crew.report_failure(err.str());
  }
  crew.dismiss(0);
  return ExitCode::ok;  // another code would end rank 0 before it has printed
}

ExitCode lead(const Arguments& arguments, Crew& crew, std::ostream& out, std::ostream& err,
              const std::function<void()>& finish_output) {
  show_progress(ProgressView::logged);
  const ExitCode code = run_program(arguments, out, err, finish_output);
  for (const std::string& note : crew.notes()) {
    err << "highwater: " << note << std::endl;
  }
  crew.dismiss(static_cast<int>(code));
  return code;
}

}  // namespace

ExitCode run_launched_program(const Arguments& arguments, std::ostream& out, std::ostream& err,
                              const std::function<void()>& finish_output) {
  if (!shares_work(arguments)) {
    return run_program(arguments, out, err, finish_output);
  }
  std::unique_ptr<Transport> transport;
  try {
    transport = connect_to_launched(HIGHWATER_VERSION);
  } catch (const UsageError& error) {
    err << "highwater: " << error.what() << "\n";
    return ExitCode::usage;
  }
  Crew crew(*transport);
  join_crew(&crew);
  return crew.is_leader() ? lead(arguments, crew, out, err, finish_output)
                          : follow(arguments, crew);
}

}  // namespace highwater
