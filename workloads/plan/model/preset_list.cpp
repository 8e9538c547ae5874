#include "workloads/plan/model/preset_list.hpp"

#include <algorithm>
#include <string>

namespace highwater {

void PresetList::add(std::string_view name, std::string_view hub_id, ModelConfig config,
                     std::string_view alias) {
  specs_.push_back({std::string(name), std::string(kModelHub).append(hub_id), std::move(config)});
  if (!alias.empty()) {
    aliases_.emplace_back(alias, name);
  }
}

void PresetList::add_unpublished(std::string_view name, std::string_view source,
                                 ModelConfig config) {
  specs_.push_back({std::string(name), std::string(source), std::move(config)});
}

std::string_view PresetList::name_of(std::string_view alias) const {
  const auto found =
      std::ranges::find(aliases_, alias, &std::pair<std::string_view, std::string_view>::first);
  return found == aliases_.end() ? alias : found->second;
}

}  // namespace highwater
