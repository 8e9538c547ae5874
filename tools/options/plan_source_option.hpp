// --from SOURCE: a plan that files carry or a paper published, instead of one that is
// typed; --print-options shows what became of it.
//
// It can be given several times, later files win; options that are given beside it win over all.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/any.hpp>
#include <boost/program_options/parsers.hpp>
#include <boost/program_options/variables_map.hpp>

#include "tools/studies/runs/planned_run.hpp"
#include "tools/studies/runs/recording_check.hpp"
#include "workloads/sources/plan_source.hpp"

namespace highwater {

class OptionParser;

/// One --from: what it names, and the files that this names.
struct NamedSources {
  std::vector<PlanSource> sources;
  std::string python_configuration = {};  ///< which is not read yet
};

/// @throws InputError
void validate(boost::any& value, const std::vector<std::string>& texts, NamedSources*, int);

void add_plan_source(OptionParser& parser);

/// Reads configurations in Python by the Python of --python. @throws InputError
void read_python_configurations(boost::program_options::variables_map& values);

/// All that --from names, in order. @pre read_python_configurations()
std::vector<PlanSource> plan_sources(const boost::program_options::variables_map& values);

/// What the plan of --from lacks, one sentence each.
std::vector<std::string> source_notes(const boost::program_options::variables_map& values);

/// The recording that the plan of --from was read from, if it was; with what `given` adds where the
/// recording tells nothing, and with the engine. Other options change the plan that it carries.
std::optional<RecordedPlan> recorded_plan(const boost::program_options::variables_map& values,
                                          const OptionWords& given);

/// The keys of --from that those sentences are about.
std::vector<LeftOutKey> left_out_keys(const boost::program_options::variables_map& values);

/// Those that the files of --from were read as: a text for each file whose keys tell.
std::vector<std::string> source_releases(const boost::program_options::variables_map& values);

/// The whole plan by earlier releases' defaults, where one of the sources may be of such a release
/// and that makes a difference. `given`: what stands beside --from.
std::optional<EarlierRun> earlier_run(const std::vector<PlanSource>& sources,
                                      const OptionWords& given);

/// Keeps an EarlierRun among the values, under a name that no option has.
void keep_earlier_run(const std::optional<EarlierRun>& run,
                      boost::program_options::variables_map& values);

std::optional<EarlierRun> kept_earlier_run(const boost::program_options::variables_map& values);

/// Why the plan of --from has no model, if it has none: one sentence about the key that would have
/// named it.
std::optional<std::string> why_no_model(const boost::program_options::variables_map& values);

/// A recording that is all of --from, and what it says of its program.
struct SingleRecording {
  std::string file;
  std::shared_ptr<const Recording> recording;
  std::string program;               ///< class, batch and steps, as the recorder saw them
  OptionWords words;                 ///< that the recorded plan is
  std::vector<std::string> changed;  ///< options of a plan that are given and say otherwise
};

/// Absent where --from names something else, or more.
std::optional<SingleRecording> single_recording(const boost::program_options::variables_map& values,
                                                const OptionWords& given);

/// `problem` of a plan, with the keys of --from that its options came from: whoever gave a file has
/// not given these options.
std::string with_its_keys(std::string problem, const boost::program_options::variables_map& values);

/// Why the plan of --from is none yet, where a key says the strategy, the batch or the length in a
/// way that cannot be read and no option says it: it would be simulated as another plan.
std::optional<std::string> why_left_open(const boost::program_options::variables_map& values);

/// Why it is not known how many GPUs the plan of --from runs on, where a key says that it runs on
/// several and no option says how many: it would be simulated on one.
std::optional<std::string> why_no_ranks(const boost::program_options::variables_map& values);

/// The sentences of a source by itself.
std::vector<std::string> source_notes(const PlanSource& source);

/// The command line that `found` and `given` make, and what became of each key of the files.
std::string source_text(const std::vector<PlanSource>& sources, std::string_view command,
                        const boost::program_options::parsed_options& found,
                        const boost::program_options::parsed_options& given);

}  // namespace highwater
