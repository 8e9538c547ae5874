// torchtune's model builders: which decoder, and whether it has adapters.
//
// Source: torchtune 0.3 to 0.6.1, torchtune/models/*/_model_builders.py.
#pragma once

#include <string>

#include "workloads/sources/settings/setting.hpp"

namespace highwater::program_table {

/// What a builder's name says: "torchtune.models.llama3.qlora_llama3_8b".
struct BuilderName {
  std::string model;
  bool has_adapters = false;
  bool is_quantised = false;
  bool has_magnitudes = false;  ///< DoRA
};

BuilderName builder_name(const std::string& component);

/// The preset of a builder, or a config.json of the sizes in the file; empty if there is neither.
std::string tune_model(const std::string& builder, const SettingList& all);

/// The family of a preset whose decoder in torchtune is not simulated, as transformers' is; else
/// empty.
std::string foreign_family(const std::string& model);

}  // namespace highwater::program_table
