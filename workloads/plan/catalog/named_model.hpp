// The model that a user names: a preset, or a file that describes one.
#pragma once

#include <optional>
#include <string>

#include "workloads/plan/model/model_spec.hpp"

namespace highwater {

/// Whether `text` is meant as a file (config.json, flat description), as a folder with a
/// config.json, or is the text of one: it ends in .json, begins as a path or as an object does, or
/// has a slash and exists; hub ids have slashes, too.
bool names_model_file(const std::string& text);

/// @throws InputError for files that cannot be read and models that cannot be
ModelSpec read_sound_model(const std::string& text);

/// The file's model, the preset's, or that of a config.json which the hub's library has downloaded;
/// absent for other names. @throws InputError for bad files
std::optional<ModelSpec> find_named_model(const std::string& text);

/// The file's model, the preset's or the downloaded one. @throws UsageError for unknown names,
/// InputError for bad files
ModelSpec named_model(const std::string& text);

}  // namespace highwater
