#include "tools/reports/edit_report.hpp"

#include <fmt/format.h>

#include "tools/text/safe_text.hpp"

namespace highwater {
namespace {

std::string unedited_note(const EditedReplay& edited) {
  const std::string failures =
      edited.unedited_ooms == 0
          ? ""
          : fmt::format(", and {} requests run out of memory", edited.unedited_ooms);
  return fmt::format("without {}: peak reserved {}, peak allocated {}{}",
                     edited.edits.size() == 1 ? "the edit" : "the edits",
                     to_iec(edited.unedited_peak.reserved), to_iec(edited.unedited_peak.allocated),
                     failures);
}

std::string beside_note(const NeighbourResult& beside, bool is_bounded) {
  if (!beside.has_context) {
    return fmt::format("the second process: its CUDA context of {} does not fit, so it never ran",
                       to_iec(beside.context));
  }
  const std::string failures =
      beside.ooms == 0 ? "" : fmt::format(", {} requests run out of memory", beside.ooms);
  const std::string retries =
      beside.alloc_retries == 0
          ? ""
          : fmt::format(", {} released what it cached first", beside.alloc_retries);
  return fmt::format(
      "the second process: peak reserved {}, peak allocated {}{}{}; both together "
      "take at most {} of the device{}",
      to_iec(beside.peak.reserved), to_iec(beside.peak.allocated), failures, retries,
      to_iec(beside.device_peak), is_bounded ? "" : ", which has no limit here: add --capacity");
}

}  // namespace

std::vector<std::string> edit_notes(const EditedReplay& edited) {
  std::vector<std::string> notes;
  for (const EditAnswer& answer : edited.edits) {
    const auto add = [&](std::string_view what, std::string_view text) {
      notes.push_back(printable(fmt::format("edit {}: {}{}", answer.edit, what, text)));
    };
    add("", answer.report.done);
    for (const std::string& assumed : answer.report.assumed) {
      add("assumed: ", assumed);
    }
    for (const std::string& unknown : answer.report.unknown) {
      add("not known: ", unknown);
    }
  }
  if (edited.beside) {
    notes.push_back(beside_note(*edited.beside, edited.is_bounded));
  }
  notes.push_back(unedited_note(edited));
  return notes;
}

}  // namespace highwater
