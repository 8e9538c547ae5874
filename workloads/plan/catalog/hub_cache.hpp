// The config.json of a model that was downloaded from the Hugging Face hub, where its library keeps
// it. Nothing is downloaded here.
//
// Source: huggingface_hub 1.0 constants.py (HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME) and
// file_download.py: models--OWNER--NAME/snapshots/COMMIT/config.json, the commit in refs/main.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace highwater {

/// The path of the config.json of `id` ("owner/name"); absent if it is not there, or is no id.
std::optional<std::string> cached_config(std::string_view id);

/// Whether `text` has the form of an id: an owner and a name.
bool is_hub_id(std::string_view text);

}  // namespace highwater
