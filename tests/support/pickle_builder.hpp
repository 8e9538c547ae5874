// Writes pickles for tests: a value tree, and the two dialects in which snapshots exist.
//
// Python's: protocol 4, one FRAME, every string and container memoized, repeated ones fetched with
// BINGET, batches of 1000 items. C++'s (the TorchScript pickler): protocol 2, BINPUT for strings
// only, every container in a single batch, 8-byte LONG1. Values are shared by identity, so a value
// used twice is written once in Python's dialect.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace highwater::test {

class PyValue {
 public:
  using List = std::vector<PyValue>;
  using Dict = std::vector<std::pair<std::string, PyValue>>;

  struct Tuple {
    List items;
  };

  using Content = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double,
                               std::string, List, Tuple, Dict>;

  PyValue() : PyValue(Content{}) {}

  PyValue(bool value) : PyValue(Content{value}) {}

  PyValue(int value) : PyValue(Content{std::int64_t{value}}) {}

  PyValue(std::int64_t value) : PyValue(Content{value}) {}

  PyValue(std::uint64_t value) : PyValue(Content{value}) {}

  PyValue(double value) : PyValue(Content{value}) {}

  PyValue(const char* text) : PyValue(Content{std::string(text)}) {}

  PyValue(std::string text) : PyValue(Content{std::move(text)}) {}

  static PyValue list(List items) { return PyValue(Content{std::move(items)}); }

  static PyValue tuple(List items) { return PyValue(Content{Tuple{std::move(items)}}); }

  static PyValue dict(Dict items) { return PyValue(Content{std::move(items)}); }

  [[nodiscard]] const Content& content() const { return *content_; }

  /// Equal for copies of one value: what Python calls `is`.
  [[nodiscard]] const void* identity() const { return content_.get(); }

  /// A copy of this dict with `key` set, or removed.
  [[nodiscard]] PyValue with(const std::string& key, PyValue value) const;
  [[nodiscard]] PyValue without(const std::string& key) const;

 private:
  explicit PyValue(Content content) : content_(std::make_shared<Content>(std::move(content))) {}

  std::shared_ptr<const Content> content_;
};

enum class Dialect { python, cpp };

using Bytestring = std::vector<std::byte>;

Bytestring write_pickle(const PyValue& value, Dialect dialect);

/// Raw bytes, for pickles that no writer writes: each value must be below 256.
Bytestring raw(std::initializer_list<int> bytes);
Bytestring raw(const std::string& text);

}  // namespace highwater::test
