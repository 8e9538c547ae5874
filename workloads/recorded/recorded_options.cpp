#include "workloads/recorded/recorded_options.hpp"

#include <variant>

#include "workloads/plan/options/option_table.hpp"

namespace highwater {
struct TrainingPlan;
}

namespace highwater::recorded {
namespace {

/// A field's value as a command line has it; its type must be the option's.
std::string text_of(const Option& option, const Field& field) {
  if (std::holds_alternative<WholeRange>(option.axis.allowed)) {
    return fmt::format("{}", field.integer());
  }
  if (std::holds_alternative<RealRange>(option.axis.allowed)) {
    return fmt::format("{}", field.real());
  }
  const bool is_true_or_false = option.can_stand_alone && field.value().is_bool();
  return option.is_flag() || is_true_or_false ? option_text(field.boolean()) : field.text();
}

}  // namespace

void set_option(TrainingPlan& plan, std::string_view option, const Field& field,
                const std::string& text) {
  if (option_called(option).set(plan, text)) {
    throw Unsupported{fmt::format("{} '{}' is not supported", field.path(), text)};
  }
}

void set_option(TrainingPlan& plan, std::string_view option, const Field& field) {
  set_option(plan, option, field, text_of(option_called(option), field));
}

void set_options(TrainingPlan& plan, std::span<const FieldOption> rows, const Field& fields) {
  for (const FieldOption& row : rows) {
    const auto field = row.option.empty() ? std::nullopt : fields.find(row.field);
    if (!field || field->is_null()) {
      continue;
    }
    if (row.word_of != nullptr) {
      set_option(plan, row.option, *field, row.word_of(*field));
    } else {
      set_option(plan, row.option, *field);
    }
  }
}

void require_known(const Field& field, std::span<const FieldOption> known) {
  for (const auto& [key, value] : field.object()) {
    const std::string_view name = key;
    if (std::ranges::find(known, name, &FieldOption::field) == known.end()) {
      throw Unsupported{fmt::format("{}.{} is not a known field", field.path(), name)};
    }
  }
}

bool flag(const Field& fields, std::string_view key) {
  const auto field = fields.find(key);
  return field && field->boolean();
}

}  // namespace highwater::recorded
