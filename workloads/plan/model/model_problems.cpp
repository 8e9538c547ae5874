#include "workloads/plan/model/model_problems.hpp"

#include <algorithm>
#include <optional>

#include "workloads/plan/model/model_spec.hpp"
#include "workloads/plan/model/other_model.hpp"

namespace highwater {
namespace {

/// Above these, sizes in bytes could leave 63 bits before anything else looks at them.
constexpr std::int64_t kLargestSize = std::int64_t{1} << 31;
constexpr std::int64_t kMostLayers = 2000;
constexpr std::int64_t kMostExperts = 4096;
constexpr double kMostParameters = 1e16;

bool is_layers(FieldRole role) {
  return role == FieldRole::layers || role == FieldRole::decoder_layers;
}

bool is_probability(FieldRole role) {
  return role >= FieldRole::dropout && role <= FieldRole::other_probability;
}

/// rotary_dim has a check of its own.
bool is_size(FieldRole role) {
  return role >= FieldRole::hidden && role <= FieldRole::other_size &&
         role != FieldRole::unused_kv_heads && role != FieldRole::rotary_dim;
}

/// The number in `field`, unless it is left out.
std::optional<std::int64_t> number_in(const ConfigField& field, const ModelConfig& config) {
  const FieldValue value = field.value(config.value());
  const auto* const number = std::get_if<std::int64_t>(&value);
  return number != nullptr ? *number : std::get<std::optional<std::int64_t>>(value);
}

/// Calls check(name, number) for every field whose role `is_meant` and that is not left out.
template <class Check>
void for_numbers(const ModelConfig& config, bool (*is_meant)(FieldRole), Check check) {
  for (const ConfigField& field : config.family().fields) {
    const auto number = is_meant(field.role) ? number_in(field, config) : std::nullopt;
    if (number) {
      check(field.name, *number);
    }
  }
}

std::string_view name_of(const ModelConfig& config, FieldRole role) {
  return std::ranges::find(config.family().fields, role, &ConfigField::role)->name;
}

void check_heads(ModelProblems& problems, const ModelConfig& config, const ModelShape& shape) {
  if (!size_of(config, FieldRole::head_dim) && !has_field(config, FieldRole::unused_kv_heads)) {
    problems.check_divides(name_of(config, FieldRole::heads), shape.heads,
                           name_of(config, FieldRole::hidden), shape.hidden);
  }
  if (const auto kv_heads = size_of(config, FieldRole::kv_heads)) {
    problems.check_divides(name_of(config, FieldRole::kv_heads), *kv_heads,
                           name_of(config, FieldRole::heads), shape.heads);
  }
}

void check_experts(ModelProblems& problems, const ModelConfig& config) {
  const std::int64_t experts = size_of(config, FieldRole::experts).value_or(0);
  const std::int64_t chosen = size_of(config, FieldRole::experts_per_token).value_or(0);
  if (experts > kMostExperts) {
    problems.add("{} experts exceed the limit of the simulation, {}", experts, kMostExperts);
  }
  if (chosen > experts) {
    problems.add("{} is {}, but there are only {} experts",
                 name_of(config, FieldRole::experts_per_token), chosen, experts);
  }
}

void check_probabilities(ModelProblems& problems, const ModelConfig& config) {
  for (const ConfigField& field : config.family().fields) {
    if (is_probability(field.role)) {
      problems.check_probability(field.name, std::get<double>(field.value(config.value())));
    }
  }
}

void check_fields(ModelProblems& problems, const ModelConfig& config, const ModelShape& shape) {
  for_numbers(config, is_layers, [&](std::string_view name, std::int64_t layers) {
    problems.check_layers(name, layers);
  });
  for_numbers(config, is_size,
              [&](std::string_view name, std::int64_t size) { problems.check_size(name, size); });
  check_heads(problems, config, shape);
  check_experts(problems, config);
  if (const auto rotary_dim = size_of(config, FieldRole::rotary_dim)) {
    problems.check_rotary(name_of(config, FieldRole::rotary_dim), *rotary_dim, shape.head_dim);
  }
  check_probabilities(problems, config);
}

/// So roughly that it only has to be right within a factor of ten, in doubles that cannot overflow.
double rough_parameters(const ModelShape& shape) {
  const auto real = [](std::int64_t n) { return static_cast<double>(n); };
  const double mlp =
      3.0 * real(shape.hidden) * real(shape.ffn) * std::max(1.0, real(shape.experts));
  const double attention = 4.0 * real(shape.hidden) *
                           std::max(real(shape.hidden), real(shape.heads) * real(shape.head_dim));
  return real(shape.layers + 2 * shape.decoder_layers) * (mlp + attention) +
         2.0 * real(shape.vocab) * real(shape.hidden);
}

}  // namespace

void ModelProblems::check_size(std::string_view name, std::int64_t size) {
  if (size < 1) {
    add("{} is {}; give at least 1", name, size);
  } else if (size > kLargestSize) {
    add("{} is {}; give at most {}", name, size, kLargestSize);
  }
}

void ModelProblems::check_layers(std::string_view name, std::int64_t layers) {
  if (layers < 1 || layers > kMostLayers) {
    add("{} is {}; give 1 to {}", name, layers, kMostLayers);
  }
}

void ModelProblems::check_probability(std::string_view name, double value) {
  if (!(value >= 0.0 && value <= 1.0)) {
    add("{} is {}; give a probability from 0 to 1", name, value);
  }
}

void ModelProblems::check_divides(std::string_view part, std::int64_t n, std::string_view whole,
                                  std::int64_t size) {
  if (n > 0 && size > 0 && size % n != 0) {
    add("{} ({}) does not divide {} ({}); choose a divisor", part, n, whole, size);
  }
}

void ModelProblems::check_rotary(std::string_view name, std::int64_t rotary_dim,
                                 std::int64_t head_dim) {
  if (rotary_dim < 2 || rotary_dim % 2 != 0 || rotary_dim > head_dim) {
    add("{} is {}; rotary positions need an even number from 2 to the head size {}", name,
        rotary_dim, head_dim);
  }
}

void ModelProblems::refuse_layerdrop(double layerdrop) {
  if (layerdrop != 0.0) {
    add("layerdrop is {}; the simulation cannot skip layers at random, set it to 0", layerdrop);
  }
}

std::vector<std::string> model_problems(const ModelSpec& spec) {
  if (is_other(spec.config)) {
    return {};  // transformers itself knows them
  }
  if (&spec.config.family() == &kNoFamily) {
    return {"the plan names no model; give one"};
  }
  ModelProblems problems;
  const ModelShape shape = shape_of(spec);
  check_fields(problems, spec.config, shape);
  if (spec.config.family().check != nullptr) {
    spec.config.family().check(spec.config.value(), problems);
  }
  if (const double parameters = rough_parameters(shape); parameters > kMostParameters) {
    problems.add("the model would have about {:.0e} parameters; the limit is {:.0e}", parameters,
                 kMostParameters);
  }
  return std::move(problems).take();
}

}  // namespace highwater
