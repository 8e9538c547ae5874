// A recorded case opened, derived, and simulated from its description: what `validate` and `diff`
// work on.
//
// A case is the pair X.json (description, markers) and X.pickle.xz (snapshot), or the same in the
// compact forms X.json.xz and X.hwt.xz; the simulation sees the description alone.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/diff/trace_diff.hpp"
#include "sim/recordings/derivation.hpp"
#include "sim/replay/phase_peaks.hpp"
#include "traces/formats/snapshot/torch_snapshot.hpp"
#include "traces/recording.hpp"

namespace highwater {

struct RecordedCase;

/// The two files of a case.
struct CaseFiles {
  std::string description;  ///< X.json
  std::string recording;    ///< X.pickle.xz
};

/// Whether the file describes a recorded case: other JSON (a snapshot, a report beside its
/// recording) does not. @throws InputError for damaged JSON
bool describes_case(const std::string& path);

/// The files of the case that `path` is one of; absent when it is neither of the two or the other
/// one does not exist.
std::optional<CaseFiles> case_files(const std::string& path);

/// All pairs below `folder`, by path. @throws InputError for what is not a folder.
std::vector<CaseFiles> find_cases(const std::string& folder);

/// @throws InputError
RecordedCase load_case(const std::string& description);

/// One device of a recording and the requests behind it; not movable, the parts refer to another.
struct DerivedRecording {
  DerivedRecording(Recording read, const std::string& name);
  DerivedRecording(const DerivedRecording&) = delete;
  DerivedRecording& operator=(const DerivedRecording&) = delete;
  ~DerivedRecording() = default;

  Recording recording;
  const RecordedDevice* device;  ///< the one with most entries
  const VersionPreset* version;
  Settings settings;
  DerivedTrace derived;
};

/// @throws InputError
std::unique_ptr<DerivedRecording> load_recording(const std::string& path, StackMode stacks);

/// The options under which the case ran. @throws InputError when its settings are refused.
ReplayOptions replay_options(const RecordedCase& recorded, const std::string& source);

/// The recorded side of a comparison; `described` tells where the phases are, else the recording.
ComparedTrace compared_trace(const DerivedRecording& recorded, const RecordedCase* described);

/// The side of a trace with markers of its own.
ComparedTrace compared_trace(const RequestTrace& trace);

}  // namespace highwater
