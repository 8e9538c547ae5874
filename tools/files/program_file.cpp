#include "tools/files/program_file.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "traces/edit_distance.hpp"
#include "traces/error.hpp"
#include "traces/formats/binary/binary_trace.hpp"
#include "traces/formats/bytes/byte_sink.hpp"
#include "traces/formats/bytes/peeked_source.hpp"
#include "traces/parse_text.hpp"

namespace highwater {
namespace {

std::optional<std::uint64_t> find_value(const NamedIntegers& given, const std::string& name) {
  const auto found = std::ranges::find(given, name, &NamedInteger::first);
  return found == given.end() ? std::nullopt : std::optional(found->second);
}

std::string unknown_integer(const ScalableProgram& program, const std::string& name,
                            const std::string& path) {
  const auto meant = nearest_word(name, program.integers);
  return fmt::format("{}: unknown integer; {}", name,
                     meant ? fmt::format("did you mean '{}'?", *meant)
                           : fmt::format("'{}' has {}", path, fmt::join(program.integers, ", ")));
}

}  // namespace

bool is_program_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return false;  // a pipe can be read only once
  }
  try {
    const PeekedSource source(open_source(path));
    return looks_like_program(source.head());
  } catch (const Error&) {
    return false;
  }
}

ScalableProgram read_program_file(const std::string& path, const ReadingOptions& options) {
  const auto source = open_source(path, {options.expansion, {}});
  auto content = read_binary_trace(*source);
  if (auto* program = std::get_if<ScalableProgram>(&content)) {
    return std::move(*program);
  }
  throw InputError(path, "", "is no program of highwater fit", "make one with highwater fit");
}

void write_program_file(const ScalableProgram& program, const std::string& path) {
  write_binary_trace(program, *open_sink(path));
}

NamedIntegers parse_named_integers(const std::string& text, std::string_view option) {
  NamedIntegers integers;
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    const auto value = equals == std::string::npos
                           ? std::nullopt
                           : parse_number<std::uint64_t>(part.substr(equals + 1));
    const std::string name = part.substr(0, equals);
    if (name.empty() || value.value_or(0) == 0) {
      throw UsageError(fmt::format(
          "{} {}: expected names with whole numbers from 1, as in batch=8,seq=512", option, text));
    }
    if (find_value(integers, name)) {
      throw UsageError(fmt::format("{} {}: {} is given twice", option, text, name));
    }
    integers.emplace_back(name, *value);
  }
  return integers;
}

Values values_for(const ScalableProgram& program, const NamedIntegers& given,
                  const std::string& path) {
  for (const auto& [name, value] : given) {
    if (std::ranges::find(program.integers, name) == program.integers.end()) {
      throw UsageError(unknown_integer(program, name, path));
    }
  }
  Values values;
  for (const std::string& name : program.integers) {
    const auto value = find_value(given, name);
    if (!value) {
      throw UsageError(fmt::format("'{}' needs a value for {} (its integers: {})", path, name,
                                   fmt::join(program.integers, ", ")));
    }
    values.push_back(*value);
  }
  return values;
}

std::string values_words(const ScalableProgram& program, const Values& values) {
  std::string words;
  for (std::size_t i = 0; i < values.size(); ++i) {
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", program.integers[i], values[i]);
  }
  return words;
}

const FixedCondition* find_condition(std::span<const FixedCondition> conditions,
                                     std::string_view name) {
  const auto found = std::ranges::find(conditions, name, &FixedCondition::name);
  return found == conditions.end() ? nullptr : &*found;
}

std::string conditions_words(const ScalableProgram& program) {
  if (program.conditions.empty()) {
    return "holds for the GPU, the releases and the script of its recordings, which do not name "
           "them";
  }
  std::string words;
  for (const FixedCondition& condition : program.conditions) {
    words += fmt::format("{}{} {}", words.empty() ? "holds for " : ", ", condition.name,
                         condition.value);
  }
  return words;
}

}  // namespace highwater
