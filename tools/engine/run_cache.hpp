// Runs of the torch engine, kept from one command to the next by the content of what was run.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "traces/units.hpp"

namespace highwater {

/// A word of 36 letters that stands for `content` (a name-based UUID, RFC 9562 section 5.5).
std::string run_key(std::string_view content);

/// $HIGHWATER_CACHE, else $XDG_CACHE_HOME/highwater, else ~/.cache/highwater (XDG Base Directory
/// Specification). Empty, and nothing is kept, where HIGHWATER_CACHE is set and empty or no home is
/// known.
std::filesystem::path user_cache_folder();

/// Folders by key. A cache only saves time: where it cannot be read or written, it holds nothing.
class RunCache {
 public:
  /// Holds at most `room`; the folders unused for longest go first.
  RunCache(std::filesystem::path folder, Bytes room);

  [[nodiscard]] std::optional<std::filesystem::path> find(const std::string& key) const;

  /// Copies the files of the folder `run`, all or none, whoever else does the same.
  void keep(const std::string& key, const std::filesystem::path& run) const;

  void forget(const std::string& key) const;

 private:
  void make_room() const;

  std::filesystem::path folder_;
  Bytes room_;
};

}  // namespace highwater
