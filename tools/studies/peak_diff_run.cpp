#include "tools/studies/peak_diff_run.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "tools/text/site_label.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

Bytes peak_reserved(const Subject& subject) {
  return subject.replay.result.peak.reserved;
}

Subject heaviest(std::vector<Subject> subjects, const std::string& path,
                 std::vector<std::string>& notes) {
  if (subjects.empty()) {
    throw InputError(path, "devices", "the file has nothing about any device",
                     "record a snapshot of a process that uses the GPU");
  }
  const auto found = std::ranges::max_element(subjects, {}, peak_reserved);
  if (subjects.size() > 1) {
    notes.push_back(fmt::format("{}: device {}, which reserves most of {} (--device chooses)", path,
                                found->replay.device, subjects.size()));
  }
  return std::move(*found);
}

/// A replay that follows a recording finds older blocks in place; a free one allocates them.
bool allocates_older_blocks(const Subject& subject) {
  return !subject.replay.fidelity && subject.replay.derivation &&
         subject.replay.derivation->initial_blocks > 0;
}

PeakSide side_of(const PeakSubject& subject) {
  PeakSide side;
  side.peak = &subject.peak;
  side.trace = subject.subject.trace.get();
  side.site = [tables = &subject.subject.trace->tables](StackId stack) {
    SiteName name{site_label(*tables, stack), ""};
    name.without_line = without_line(name.name);
    return name;
  };
  return side;
}

}  // namespace

PeakSubject peak_subject(const PeakRequest& request, std::vector<std::string>& notes) {
  SubjectRequest subject;
  subject.file = request.path;
  subject.memory = request.memory;
  subject.served_by = request.torch;
  subject.device = request.device;
  subject.watchable = true;
  PeakSubject result;
  result.subject = heaviest(read_subjects(subject), request.path, notes);
  result.peak =
      compose_peak(*result.subject.trace, result.subject.watch, peak_reserved(result.subject));
  return result;
}

PeakChange change_between(const PeakSubject& first, const PeakSubject& second) {
  return change_of_peak(side_of(first), side_of(second));
}

void note_older_blocks(PeakDiff& diff) {
  const bool first = allocates_older_blocks(diff.first.subject);
  if (first != allocates_older_blocks(diff.second.subject)) {
    diff.notes.push_back(fmt::format(
        "device allocations of {} include those for the blocks older than its recording, "
        "which a replay under other settings allocates first",
        first ? '-' : '+'));
  }
}

}  // namespace highwater
