#include "workloads/plan/catalog/parameter_list.hpp"

#include <optional>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "traces/error.hpp"
#include "workloads/plan/model/other_model.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

/// More than any model has, and few enough that bytes stay exact numbers.
constexpr std::int64_t kMostElements = std::int64_t{1} << 48;

/// Reads one list; what is wrong is thrown with its place.
class ParameterListReader {
 public:
  ParameterListReader(const json::object& object, std::string_view source)
      : object_(&object), source_(source) {}

  [[nodiscard]] OtherConfig read() const {
    const json::array* const list = object_->at("parameters").if_array();
    if (list == nullptr || list->empty()) {
      fail("parameters", "is not a list of parameters",
           R"(write it as [{"name": "0.weight", "shape": [4, 4], "dtype": "float32"}])");
    }
    OtherConfig config;
    std::int64_t elements = 0;
    for (std::size_t i = 0; i < list->size(); ++i) {
      config.parameters.push_back(parameter(list->at(i), fmt::format("parameters[{}]", i)));
      elements += config.parameters.back().elements();
      if (elements > kMostElements) {
        fail("parameters", "has more than 2^48 elements", "correct the shapes");
      }
    }
    config.largest_layer = largest_layer();
    return config;
  }

 private:
  [[nodiscard]] ListedParameter parameter(const json::value& value,
                                          const std::string& where) const {
    const json::object* const object = value.if_object();
    if (object == nullptr) {
      fail(where, "is not an object", R"(write it as {"name": "0.weight", "shape": [4, 4]})");
    }
    return {text(*object, "name", where), sizes(*object, where + ".shape"),
            object->contains("dtype") ? text(*object, "dtype", where) : "float32"};
  }

  [[nodiscard]] std::string text(const json::object& object, std::string_view key,
                                 const std::string& where) const {
    const json::value* const found = object.if_contains(key);
    if (found == nullptr || !found->is_string()) {
      fail(fmt::format("{}.{}", where, key), "is not a text", "give it in quotes");
    }
    return std::string(found->get_string());
  }

  [[nodiscard]] std::vector<std::int64_t> sizes(const json::object& object,
                                                const std::string& where) const {
    const json::value* const found = object.if_contains("shape");
    if (found == nullptr || !found->is_array()) {
      fail(where, "is not a list of sizes", "write it as [1024, 1024]");
    }
    std::vector<std::int64_t> sizes;
    std::int64_t elements = 1;
    for (const json::value& size : found->get_array()) {
      sizes.push_back(count(size, where));
      if (sizes.back() != 0 && elements > kMostElements / sizes.back()) {
        fail(where, "has more than 2^48 elements", "correct the shape");
      }
      elements *= sizes.back();
    }
    return sizes;
  }

  [[nodiscard]] std::int64_t count(const json::value& value, const std::string& where) const {
    const std::int64_t* const number = value.if_int64();
    if (number == nullptr || *number < 0 || *number > kMostElements) {
      fail(where, fmt::format("has {}, which is not a size", json::serialize(value)),
           "give whole numbers from 0");
    }
    return *number;
  }

  [[nodiscard]] std::optional<std::int64_t> largest_layer() const {
    constexpr std::string_view kKey = "largest_layer_parameters";
    const json::value* const given = object_->if_contains(kKey);
    return given == nullptr ? std::nullopt : std::optional(count(*given, std::string(kKey)));
  }

  [[noreturn]] void fail(std::string_view where, std::string_view what,
                         std::string_view remedy) const {
    throw InputError(source_, where, what, remedy);
  }

  const json::object* object_;
  std::string_view source_;
};

}  // namespace

bool is_parameter_list(const json::object& object) {
  return object.contains("parameters") && !object.contains("model_type") &&
         !object.contains("family");
}

ModelSpec read_parameter_list(const json::object& object, std::string_view source) {
  const json::value* const name = object.if_contains("name");
  const bool is_named = name != nullptr && name->is_string() && !name->get_string().empty();
  return {.name = is_named ? std::string(name->get_string()) : "model",
          .source = std::string(source),
          .config = ParameterListReader(object, source).read()};
}

}  // namespace highwater
