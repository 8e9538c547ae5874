// Any JSON describes a model or is refused with a reason; a model that is accepted can be checked
// and has parameters that can be counted.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <boost/json.hpp>

#include "traces/error.hpp"
#include "workloads/plan/catalog/hf_config.hpp"
#include "workloads/plan/model/families/all_families.hpp"
#include "workloads/plan/model/parameter_count.hpp"

// The name and the types are libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace highwater;
  boost::json::error_code not_json;
  const boost::json::value value =
      boost::json::parse(std::string_view(reinterpret_cast<const char*>(data), size), not_json);
  if (not_json) {
    return 0;
  }
  try {
    const ModelSpec spec = model_from_json(value, "fuzz");
    if (model_problems(spec).empty() && parameter_count(spec.config).total() <= 0) {
      std::abort();
    }
  } catch (const Error&) {  // told to the user
  }
  return 0;
}
