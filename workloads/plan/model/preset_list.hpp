// The published sizes that the families list, with the place each config is from.
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "workloads/plan/model/model_spec.hpp"

namespace highwater {

/// Where models are published.
inline constexpr std::string_view kModelHub = "https://huggingface.co/";

/// What the families add their sizes to.
class PresetList {
 public:
  /// A model on the Hugging Face hub; `alias` is another name of it.
  void add(std::string_view name, std::string_view hub_id, ModelConfig config,
           std::string_view alias = {});

  /// A model that is not on the hub; `source` says where its sizes are from.
  void add_unpublished(std::string_view name, std::string_view source, ModelConfig config);

  void add(ModelSpec spec) { specs_.push_back(std::move(spec)); }

  [[nodiscard]] std::span<const ModelSpec> specs() const { return specs_; }

  /// The name that `alias` stands for, or `alias` itself.
  [[nodiscard]] std::string_view name_of(std::string_view alias) const;

 private:
  std::vector<ModelSpec> specs_;
  std::vector<std::pair<std::string_view, std::string_view>> aliases_;
};

/// Sizes that exist only as recordings of real PyTorch.
inline constexpr std::string_view kSizeOfRecordings =
    "size of the project's recordings, no published model";

}  // namespace highwater
