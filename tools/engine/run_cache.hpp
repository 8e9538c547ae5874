// Runs of the torch engine, kept from one command to the next by the content of what was run.
//
// The cache has a folder of its own in the user's (tools/record/user_cache.hpp), and touches
// nothing in there but its entries: an entry is a folder that is called by its key, belongs to this
// user and holds a file with the cache's mark. That file also says the sum over the entry's key and
// its files: an entry is believed only while it holds, so neither one that was damaged or replaced,
// nor one that stands under another's key. Nobody but the user can open any of it, and what others
// could have written is not believed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "traces/units.hpp"

namespace highwater {

/// Folders by key. A cache only saves time: where it cannot be read or written, it holds nothing.
class RunCache {
 public:
  /// Holds at most `room`; the runs unused for longest go first.
  RunCache(std::filesystem::path folder, Bytes room);

  /// The folder with the files of a run whose sum holds.
  [[nodiscard]] std::optional<std::filesystem::path> find(const std::string& key) const;

  /// Copies the files of the folder `run`, all or none, whoever else does the same.
  /// @pre key is empty or one of run_key()
  void keep(const std::string& key, const std::filesystem::path& run) const;

  void forget(const std::string& key) const;

 private:
  [[nodiscard]] bool is_usable() const;
  void make_room() const;

  std::filesystem::path folder_;
  Bytes room_;
};

}  // namespace highwater
