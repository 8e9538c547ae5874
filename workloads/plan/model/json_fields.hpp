// Typed reading of a JSON object's fields that collects every problem instead of stopping at the
// first: a config with three mistakes gives one error that names the three.
//
// Not part of the public interface: Boost.JSON stays out of the other headers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "workloads/plan/model/activation.hpp"

namespace highwater {

/// One object with its path, and the list to which problems go.
class JsonFields {
 public:
  JsonFields(const boost::json::object& object, std::string path,
             std::vector<std::string>& problems)
      : JsonFields(object, std::move(path), problems, problems) {}

  /// `gaps` gets what is sound, but is not simulated.
  JsonFields(const boost::json::object& object, std::string path,
             std::vector<std::string>& problems, std::vector<std::string>& gaps)
      : object_(&object), path_(std::move(path)), problems_(&problems), gaps_(&gaps) {}

  /// Sets `out` from `key`, or else from `alias`, whichever is there and not null; else leaves it.
  template <class T>
  void read(T& out, std::string_view key, std::string_view alias = {}) {
    if (const boost::json::value* const found = find(key)) {
      assign(out, key, *found);
    } else if (!alias.empty()) {
      read(out, alias);
    }
  }

  /// As read(); absence is a problem.
  template <class T>
  void require(T& out, std::string_view key) {
    if (find(key) == nullptr) {
      add_problem(key, "is missing");
      return;
    }
    read(out, key);
  }

  /// The field, unless it is absent or null.
  [[nodiscard]] const boost::json::value* find(std::string_view key) const;

  /// The field is there and null.
  [[nodiscard]] bool is_null(std::string_view key) const;

  /// The field as an object, if it is there; of another type: a problem.
  std::optional<JsonFields> child(std::string_view key);

  /// The field as an array, or nullptr; of another type: a problem.
  const boost::json::array* array(std::string_view key);

  /// The text of `key`, or empty; of another type: a problem.
  std::string text(std::string_view key);

  void add_problem(std::string_view key, std::string_view problem);

  /// The value is sound, but the generator lacks what it asks for.
  void add_gap(std::string_view key, std::string_view gap);

 private:
  void assign(std::int64_t& out, std::string_view key, const boost::json::value& value);
  void assign(double& out, std::string_view key, const boost::json::value& value);
  void assign(bool& out, std::string_view key, const boost::json::value& value);
  void assign(Activation& out, std::string_view key, const boost::json::value& value);

  template <class T>
  void assign(std::optional<T>& out, std::string_view key, const boost::json::value& value) {
    assign(out.emplace(), key, value);
  }

  const boost::json::object* object_;
  std::string path_;
  std::vector<std::string>* problems_;
  std::vector<std::string>* gaps_;
};

}  // namespace highwater
