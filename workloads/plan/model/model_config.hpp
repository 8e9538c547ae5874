// The configuration of one model: the struct of one family, and the family's record. Plans carry it
// and ask it by role; only a family's own code names the struct.
#pragma once

#include <any>
#include <concepts>
#include <optional>
#include <utility>

#include "workloads/plan/model/family.hpp"

namespace highwater {

template <class Config>
concept FamilyConfig = requires(const Config& config) {
  { family_of(config) } -> std::same_as<const Family&>;
};

inline constexpr Family kNoFamily{
    .defaults = [] { return std::any(); },
    .are_equal = [](const std::any& /*first*/, const std::any& /*second*/) { return true; }};

class ModelConfig {
 public:
  /// No model yet: a plan names its model before anything asks.
  ModelConfig() : ModelConfig(kNoFamily) {}

  /// The defaults of `family`.
  explicit ModelConfig(const Family& family) : family_(&family), config_(family.defaults()) {}

  template <FamilyConfig Config>
  ModelConfig(Config config) : family_(&family_of(config)), config_(std::move(config)) {}

  [[nodiscard]] const Family& family() const { return *family_; }

  /// @pre it is a `Config`
  template <class Config>
  [[nodiscard]] const Config& as() const {
    return std::any_cast<const Config&>(config_);
  }

  template <class Config>
  Config& as() {
    return std::any_cast<Config&>(config_);
  }

  template <class Config>
  [[nodiscard]] bool is() const {
    return std::any_cast<Config>(&config_) != nullptr;
  }

  // For code that goes by the family's record.
  [[nodiscard]] const std::any& value() const { return config_; }

  std::any& value() { return config_; }

  bool operator==(const ModelConfig& other) const {
    return family_ == other.family_ && family_->are_equal(config_, other.config_);
  }

 private:
  const Family* family_;
  std::any config_;
};

/// The number in the first field of that role; absent if there is none or it is left out.
std::optional<std::int64_t> size_of(const ModelConfig& config, FieldRole role);
std::optional<double> probability_of(const ModelConfig& config, FieldRole role);
std::optional<bool> flag_of(const ModelConfig& config, FieldRole role);

bool has_field(const ModelConfig& config, FieldRole role);

}  // namespace highwater
