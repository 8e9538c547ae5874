#include "tools/studies/validation/reference_case.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "traces/error.hpp"
#include "workloads/json/json_document.hpp"
#include "workloads/json/json_field.hpp"

namespace highwater {
namespace {

namespace json = boost::json;
using ReferenceField = JsonField;

constexpr std::string_view kReferenceRemedy = "the file is damaged or has no reference cases";

constexpr std::array<std::string_view, 4> kKinds{"printed", "derived", "constant", "observation"};

ReferenceKind read_kind(const ReferenceField& field) {
  const auto* const found = std::ranges::find(kKinds, field.text());
  if (found == kKinds.end()) {
    field.fail("expected printed, derived, constant or observation");
  }
  return static_cast<ReferenceKind>(found - kKinds.begin());
}

/// A figure or a word.
const json::value& read_value(const ReferenceField& field) {
  if (!field.value().is_number() && !field.value().is_string()) {
    field.fail("expected a number or a string");
  }
  return field.value();
}

std::vector<ExpectedValue> read_expected(const ReferenceField& fields) {
  const ReferenceField expected = fields.at("expected");
  const ReferenceField match = fields.at("match");
  std::vector<ExpectedValue> values;
  for (const auto& entry : expected.object()) {
    const std::string name = entry.key();
    const ReferenceField field = expected.at(name);
    values.push_back({name, read_value(field.at("value")), field.at("unit").text(),
                      field.at("tolerance").real(), match.at(name).boolean()});
  }
  return values;
}

json::object read_recomputed(const ReferenceField& field) {
  for (const auto& entry : field.object()) {
    read_value(field.at(std::string_view(entry.key())));
  }
  return field.object();
}

ReferenceCase read_reference_case(const ReferenceField& fields) {
  ReferenceCase result;
  result.id = fields.at("id").text();
  result.kind = read_kind(fields.at("kind"));
  result.source = fields.at("source").text();
  result.formula = fields.at("formula").text();
  result.notes = fields.at("notes").text();
  result.expected = read_expected(fields);
  result.recomputed = read_recomputed(fields.at("recomputed"));
  result.all_match = fields.at("all_match").boolean();
  static_cast<void>(fields.at("inputs").object());
  return result;
}

json::object without_answers(json::object question) {
  for (const std::string_view answer : {"recomputed", "match", "all_match", "alternatives"}) {
    question.erase(answer);
  }
  return question;
}

}  // namespace

std::string_view to_string(ReferenceKind kind) {
  return kKinds[static_cast<std::size_t>(kind)];
}

ReferenceFile read_reference_cases(std::string_view text, const std::string& source) {
  const json::value document = parse_json_document(text, source, kReferenceRemedy);
  ReferenceFile file;
  std::set<std::string> ids;
  for (const ReferenceField& field :
       ReferenceField(document, "", source, kReferenceRemedy).at("cases").elements()) {
    file.cases.push_back(read_reference_case(field));
    if (!ids.insert(file.cases.back().id).second) {
      field.at("id").fail("another case has the same id");
    }
    file.questions.push_back(without_answers(field.object()));
  }
  return file;
}

}  // namespace highwater
