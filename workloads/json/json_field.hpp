// A value in a JSON file that knows its path, so that every error can name the place. Each reader
// accepts one type and never guesses. For recorded cases, reference cases and facts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "traces/error.hpp"

namespace highwater {

/// Every reader throws InputError if the type does not match.
class JsonField {
 public:
  /// `source` must outlive the field, `remedy` be a literal.
  JsonField(const boost::json::value& value, std::string path, const std::string& source,
            std::string_view remedy = "the file is damaged or not a recorded case; record it again")
      : value_(&value), path_(std::move(path)), source_(&source), remedy_(remedy) {}

  [[nodiscard]] bool is_null() const { return value_->is_null(); }

  [[nodiscard]] const boost::json::value& value() const { return *value_; }

  [[nodiscard]] const std::string& path() const { return path_; }

  [[nodiscard]] const boost::json::object& object() const {
    if (!value_->is_object()) {
      fail("expected an object");
    }
    return value_->get_object();
  }

  [[nodiscard]] const boost::json::array& array() const {
    if (!value_->is_array()) {
      fail("expected a list");
    }
    return value_->get_array();
  }

  [[nodiscard]] std::optional<JsonField> find(std::string_view key) const {
    const boost::json::value* found = object().if_contains(key);
    if (found == nullptr) {
      return std::nullopt;
    }
    return JsonField(*found, path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key),
                     *source_, remedy_);
  }

  [[nodiscard]] JsonField at(std::string_view key) const {
    std::optional<JsonField> found = find(key);
    if (!found) {
      fail(fmt::format("the field '{}' is missing", key));
    }
    return *found;
  }

  [[nodiscard]] std::vector<JsonField> elements() const {
    std::vector<JsonField> fields;
    for (const boost::json::value& element : array()) {
      fields.emplace_back(element, fmt::format("{}[{}]", path_, fields.size()), *source_, remedy_);
    }
    return fields;
  }

  [[nodiscard]] std::string text() const { return std::string(view()); }

  /// The text, which lives as long as the value.
  [[nodiscard]] std::string_view view() const {
    if (!value_->is_string()) {
      fail("expected a string");
    }
    return value_->get_string();
  }

  /// The text under `key`; empty if there is none.
  [[nodiscard]] std::string_view view_or_empty(std::string_view key) const {
    const std::optional<JsonField> found = find(key);
    return found ? found->view() : std::string_view();
  }

  /// The texts in the list under `key`; empty if the key is missing.
  [[nodiscard]] std::vector<std::string_view> views(std::string_view key) const {
    std::vector<std::string_view> texts;
    if (const std::optional<JsonField> found = find(key)) {
      for (const JsonField& element : found->elements()) {
        texts.push_back(element.view());
      }
    }
    return texts;
  }

  [[nodiscard]] bool boolean() const {
    if (!value_->is_bool()) {
      fail("expected true or false");
    }
    return value_->get_bool();
  }

  [[nodiscard]] double real() const {
    if (!value_->is_number()) {
      fail("expected a number");
    }
    return value_->to_number<double>();
  }

  [[nodiscard]] std::int64_t integer() const {
    if (!value_->is_int64()) {
      fail("expected an integer");
    }
    return value_->get_int64();
  }

  [[nodiscard]] std::uint64_t count() const {
    if (integer() < 0) {
      fail("expected a number of 0 or more");
    }
    return static_cast<std::uint64_t>(integer());
  }

  [[nodiscard]] int small_count() const {
    if (integer() < 0 || integer() > 1'000'000) {
      fail("expected a number from 0 to 1000000");
    }
    return static_cast<int>(integer());
  }

  [[nodiscard]] std::optional<std::uint64_t> optional_count() const {
    return is_null() ? std::nullopt : std::optional(count());
  }

  [[noreturn]] void fail(std::string_view problem) const {
    throw InputError(*source_, path_.empty() ? "the file" : path_, problem, remedy_);
  }

 private:
  const boost::json::value* value_;
  std::string path_;
  const std::string* source_;
  std::string_view remedy_;
};

}  // namespace highwater
