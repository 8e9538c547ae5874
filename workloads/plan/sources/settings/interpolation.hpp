// Values that stand for other keys of the same file: ${model.hidden_size}, as OmegaConf (torchtune,
// NeMo) has them.
#pragma once

#include "workloads/plan/sources/settings/setting.hpp"

namespace highwater {

/// What cannot be resolved (resolvers such as ${multiply:4,${x}}, circles) stays as it is written.
SettingList resolve_interpolations(SettingList settings);

}  // namespace highwater
