// A model whose Python code this program does not have: any architecture of the installed
// transformers. Only real PyTorch can run it (--engine torch); of its configuration only the sizes
// are known that most architectures call by one of a few names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workloads/plan/model/family.hpp"
#include "workloads/plan/model/model_spec.hpp"

namespace highwater {

/// A parameter of a model that is given as the list of its parameters.
struct ListedParameter {
  std::string name;
  std::vector<std::int64_t> sizes;
  std::string dtype;  ///< as PyTorch calls it: "bfloat16"

  [[nodiscard]] std::int64_t elements() const;
  bool operator==(const ListedParameter&) const = default;
};

struct OtherConfig {
  std::string model_type;  ///< or python, if it is none of transformers
  ModelShape shape;        ///< 0 where the configuration has no known name for it
  /// Python that makes the model: "/path/net.py:function", "timm:resnet50". Empty: a config.json.
  std::string python = {};
  /// All there is, if the model is such a list: nothing that could run.
  std::vector<ListedParameter> parameters = {};
  std::string gap = {};  ///< why the generator does not run it although it has the family
  std::optional<std::int64_t> largest_layer = {};  ///< what its largest module owns, if it is said

  bool operator==(const OtherConfig&) const = default;
};

/// Its record; not one of all_families(), which have forwards.
const Family& other_family();

inline const Family& family_of(const OtherConfig& /*config*/) {
  return other_family();
}

/// Whether a file of the user's makes the model.
bool names_file(const ModelConfig& config);

/// That file; absent for all others.
std::optional<std::string> python_file_of(const ModelConfig& config);

/// Whether the model is a list of parameters (catalog/parameter_list.hpp).
bool lists_parameters(const ModelConfig& config);

/// Whether only real PyTorch can run the model, if it can be run.
inline bool is_other(const ModelConfig& config) {
  return config.is<OtherConfig>();
}

/// The model that a config.json of an architecture without a family describes.
OtherConfig read_other(const boost::json::object& config);

/// Whether --model names a function of a Python file, FILE.py:function.
bool names_python_function(std::string_view text);

/// Whether --model names Python: FILE.py:function, or a model of timm, torchvision or diffusers as
/// "timm:NAME".
bool names_python_model(std::string_view text);

/// @pre names_python_model(text) @throws InputError if there is no such file
ModelSpec python_model(const std::string& text);

}  // namespace highwater
