#include "tools/reports/edit_report.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/reports/replay_report.hpp"
#include "tools/text/report.hpp"
#include "tools/text/safe_text.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

json::object answer_json(const EditAnswer& answer) {
  return {{"edit", valid_utf8(answer.edit)},
          {"done", valid_utf8(answer.report.done)},
          {"blocks", answer.report.blocks},
          {"changed", answer.report.changed},
          {"changed_bytes", answer.report.bytes.count()},
          {"assumed", words_json(answer.report.assumed)},
          {"unknown", words_json(answer.report.unknown)}};
}

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
  notes.push_back(unedited_note(edited));
  return notes;
}

json::object edits_json(const EditedReplay& edited) {
  json::array answers;
  for (const EditAnswer& answer : edited.edits) {
    answers.push_back(answer_json(answer));
  }
  return {{"edits", std::move(answers)},
          {"unedited",
           {{"peak", usage_bytes_json(edited.unedited_peak)}, {"ooms", edited.unedited_ooms}}}};
}

}  // namespace highwater
