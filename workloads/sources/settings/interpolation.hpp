// Values that stand for other keys of the same file: ${model.hidden_size}, as OmegaConf (torchtune,
// NeMo) has them.
#pragma once

#include <string>

#include "workloads/sources/settings/setting.hpp"

namespace highwater {

/// What cannot be resolved (resolvers such as ${multiply:4,${x}}, circles) stays as it is written.
/// @throws InputError if a few bytes become far more than any file has
SettingList resolve_interpolations(SettingList settings, const std::string& file);

}  // namespace highwater
