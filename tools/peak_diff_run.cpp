#include "tools/peak_diff_run.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "tools/site_label.hpp"
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

PeakSubject peak_subject(const std::string& path, const MemoryRequest& memory,
                         std::optional<int> device, std::vector<std::string>& notes) {
  SubjectRequest request;
  request.file = path;
  request.memory = memory;
  request.device = device;
  request.watchable = true;
  PeakSubject result;
  result.subject = heaviest(read_subjects(request), path, notes);
  result.peak =
      compose_peak(*result.subject.trace, result.subject.watch, peak_reserved(result.subject));
  return result;
}

PeakChange change_between(const PeakSubject& first, const PeakSubject& second) {
  return change_of_peak(side_of(first), side_of(second));
}

}  // namespace highwater
