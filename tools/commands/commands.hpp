// The table of commands.
#pragma once

#include <span>

#include "tools/options/command_line.hpp"

namespace highwater {

std::span<const Command> commands();

/// All but the positional ones: what --help lists.
std::vector<OptionSummary> options_of(const Command& command);

/// Runs `arguments[0]` with the rest. @throws UsageError for an unknown command.
ExitCode run_command(const Arguments& arguments, std::ostream& out);

ExitCode run_simulate(const Arguments& arguments, std::ostream& out);
/// About a plan alone: what run_simulate() answers unless it is asked about a fitted program or
/// chance.
ExitCode run_simulate_plan(const Arguments& arguments, std::ostream& out);
ExitCode run_chance(const Arguments& arguments, std::ostream& out);
ExitCode run_phases(const Arguments& arguments, std::ostream& out);
ExitCode run_captures(const Arguments& arguments, std::ostream& out);
ExitCode run_estimate(const Arguments& arguments, std::ostream& out);
ExitCode run_generate(const Arguments& arguments, std::ostream& out);
ExitCode run_solve(const Arguments& arguments, std::ostream& out);
ExitCode run_plan(const Arguments& arguments, std::ostream& out);
ExitCode run_replay(const Arguments& arguments, std::ostream& out);
ExitCode run_fit(const Arguments& arguments, std::ostream& out);
ExitCode run_explain(const Arguments& arguments, std::ostream& out);
ExitCode run_advise(const Arguments& arguments, std::ostream& out);
ExitCode run_sweep_command(const Arguments& arguments, std::ostream& out);
ExitCode run_report(const Arguments& arguments, std::ostream& out);
ExitCode run_models(const Arguments& arguments, std::ostream& out);
ExitCode run_info(const Arguments& arguments, std::ostream& out);
ExitCode run_export(const Arguments& arguments, std::ostream& out);
ExitCode run_check(const Arguments& arguments, std::ostream& out);
ExitCode run_record(const Arguments& arguments, std::ostream& out);
ExitCode run_redact(const Arguments& arguments, std::ostream& out);
ExitCode run_reduce(const Arguments& arguments, std::ostream& out);
ExitCode run_scan(const Arguments& arguments, std::ostream& out);
ExitCode run_merge(const Arguments& arguments, std::ostream& out);
ExitCode run_convert(const Arguments& arguments, std::ostream& out);
ExitCode run_diff(const Arguments& arguments, std::ostream& out);
ExitCode run_validate(const Arguments& arguments, std::ostream& out);
ExitCode run_gpus(const Arguments& arguments, std::ostream& out);
ExitCode run_completion(const Arguments& arguments, std::ostream& out);
ExitCode run_manual(const Arguments& arguments, std::ostream& out);
ExitCode run_schema(const Arguments& arguments, std::ostream& out);
ExitCode run_conformance_command(const Arguments& arguments, std::ostream& out);

/// The entry of `name` in the table; for the commands' own option parsers.
const Command& command(std::string_view name);

}  // namespace highwater
