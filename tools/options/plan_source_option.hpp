// --from FILE: a plan that a file carries, instead of one that is typed; --print-options shows what
// became of it.
//
// FILE is a recording of `highwater record`, or a NAME the run of a paper. Options that are given
// beside it win.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <boost/any.hpp>
#include <boost/program_options/parsers.hpp>
#include <boost/program_options/variables_map.hpp>

#include "workloads/plan/sources/plan_source.hpp"

namespace highwater {

class OptionParser;

/// The value of --from is what the file says. @throws InputError
void validate(boost::any& value, const std::vector<std::string>& texts, PlanSource*, int);

/// @throws InputError unless `path` names a published run, or a recording that carries a plan
PlanSource read_plan_source(const std::string& path);

void add_plan_source(OptionParser& parser);

/// What --from names, or nullptr.
const PlanSource* plan_source(const boost::program_options::variables_map& values);

/// What the plan of --from lacks, one sentence each.
std::vector<std::string> source_notes(const boost::program_options::variables_map& values);

/// The sentences of a source by itself.
std::vector<std::string> source_notes(const PlanSource& source);

/// The command line that `found` and `given` make, and what became of each key of the file.
std::string source_text(const PlanSource& source, std::string_view command,
                        const boost::program_options::parsed_options& found,
                        const boost::program_options::parsed_options& given);

}  // namespace highwater
