// What the recorder saw (tools/python/recorder/highwater_record/observed), by path. A value that is
// absent or of another type counts as not seen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

namespace highwater {

class ObservedFacts {
 public:
  explicit ObservedFacts(const boost::json::value& root) : root_(&root) {}

  /// nullptr for what is absent or null. `path` as "batch.labels"; numbers are places in a list.
  [[nodiscard]] const boost::json::value* find(std::string_view path) const;

  [[nodiscard]] std::optional<std::string> text(std::string_view path) const;

  [[nodiscard]] std::optional<double> number(std::string_view path) const;

  [[nodiscard]] std::optional<std::int64_t> whole(std::string_view path) const;

  [[nodiscard]] std::optional<bool> flag(std::string_view path) const;

  [[nodiscard]] std::vector<std::int64_t> wholes(std::string_view path) const;

  /// The key with the largest number of {name: number}: most elements are of this type.
  [[nodiscard]] std::string most(std::string_view path) const;

  /// As the file has it, short enough for a table.
  [[nodiscard]] std::string shown(std::string_view path) const;

 private:
  const boost::json::value* root_;
};

}  // namespace highwater
