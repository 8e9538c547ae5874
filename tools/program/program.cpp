#include "tools/program/program.hpp"

#include <exception>
#include <new>
#include <ostream>

#include "tools/commands/commands.hpp"
#include "tools/fleet/fleet.hpp"
#include "tools/options/defaults/default_words.hpp"
#include "tools/program/defaults_file.hpp"
#include "tools/studies/gate/budget.hpp"
#include "tools/text/safe_text.hpp"
#include "traces/error.hpp"
#include "traces/formats/bytes/opened_inputs.hpp"

namespace highwater {
namespace {

/// Without memory of its own.
ExitCode out_of_memory(std::ostream& err) {
  err << "highwater: not enough memory on this machine for the answer; ask for less at a time, or "
         "use a machine with more\n";
  return ExitCode::internal;
}

ExitCode run_and_report(const Arguments& arguments, std::ostream& out, std::ostream& err,
                        const std::function<void()>& finish_output) {
  const auto report = [&](std::string_view what, ExitCode code) {
    err << "highwater: " << printable(what) << "\n";
    return code;
  };
  const auto finish = [&](ExitCode code) {
    out.flush();
    if (const std::string taken = untold_default_words(); !taken.empty()) {
      report(taken + " (--no-config leaves it out)", code);
    }
    if (finish_output) {
      finish_output();
    }
    return out ? code
               : report(
                     "standard output: cannot be written; check for a full disk or a closed pipe",
                     ExitCode::bad_input);
  };
  const auto run = [&] {
    try {
      read_defaults_file();
      return run_command(arguments, out);
    } catch (const HelpRequested& help) {
      out << help.text;
      return ExitCode::ok;
    } catch (const PiecesOnly&) {
      return ExitCode::ok;  // others print the answer
    } catch (const BudgetExceeded& budget) {
      out.flush();
      for (const std::string& reason : budget.reasons) {
        report(reason, ExitCode::exceeded);
      }
      return ExitCode::exceeded;
    }
  };
  const InputsOfRun inputs;
  try {
    return finish(run());
  } catch (const UsageErrors& errors) {
    for (const std::string& problem : errors.problems()) {
      report(with_its_default(problem), ExitCode::usage);
    }
    return ExitCode::usage;
  } catch (const UsageError& error) {
    return report(with_its_default(error.what()), ExitCode::usage);
  } catch (const Error& error) {
    return report(with_its_default(error.what()), ExitCode::bad_input);
  } catch (const std::bad_alloc&) {
    return out_of_memory(err);
  } catch (const std::exception& error) {
    return report(std::string("internal error: ") + error.what(), ExitCode::internal);
  }
}

}  // namespace

// Words about an error need memory, too.
ExitCode run_program(const Arguments& arguments, std::ostream& out, std::ostream& err,
                     const std::function<void()>& finish_output) {
  try {
    return run_and_report(arguments, out, err, finish_output);
  } catch (const std::bad_alloc&) {
    return out_of_memory(err);
  }
}

}  // namespace highwater
