#include "tools/engine/run_cache.hpp"

#include <algorithm>
#include <functional>
#include <sys/stat.h>
#include <system_error>
#include <utility>
#include <vector>

#include "tools/engine/cached_run.hpp"
#include "tools/record/user_cache.hpp"
#include "traces/formats/bytes/temporary_file.hpp"

namespace highwater {
namespace {

namespace fs = std::filesystem;

std::vector<EntryUse> newest_first(const fs::path& cache) {
  std::vector<EntryUse> uses;
  std::error_code unreadable;
  for (const fs::directory_entry& each : fs::directory_iterator(cache, unreadable)) {
    if (is_entry(each.path())) {
      uses.push_back(use_of(each.path()));
    }
  }
  std::ranges::sort(uses, std::ranges::greater{}, &EntryUse::last);
  return uses;
}

/// Does nothing if there is one, or it cannot be made.
void make_private_folder(const fs::path& folder) {
  std::error_code ignored;
  fs::create_directories(folder.parent_path(), ignored);
  ::mkdir(folder.c_str(), S_IRWXU);
}

}  // namespace

RunCache::RunCache(fs::path folder, Bytes room) : folder_(std::move(folder)), room_(room) {}

bool RunCache::is_usable() const {
  return !folder_.empty() && is_private_folder(folder_);
}

std::optional<fs::path> RunCache::find(const std::string& key) const {
  const fs::path entry = folder_ / key;
  if (key.empty() || !is_usable() || !is_entry(entry)) {
    return std::nullopt;
  }
  if (!is_whole(entry)) {
    remove_entry(entry);
    return std::nullopt;
  }
  note_use(entry);
  return entry;
}

void RunCache::keep(const std::string& key, const fs::path& run) const {
  if (folder_.empty() || key.empty()) {
    return;
  }
  make_private_folder(folder_);
  const fs::path entry = folder_ / key;
  std::error_code missing;
  if (!is_usable() || fs::exists(fs::symlink_status(entry, missing))) {
    return;
  }
  try {
    TemporaryFolder copy(folder_ / (key + "."));
    fill_entry(copy.path(), key, run);
    copy.rename_to(entry);
  } catch (const std::system_error&) {  // no room, or somebody else has kept it meanwhile
  }
  make_room();
}

void RunCache::forget(const std::string& key) const {
  const fs::path entry = folder_ / key;
  if (!key.empty() && is_usable() && is_entry(entry)) {
    remove_entry(entry);
  }
}

void RunCache::make_room() const {
  std::uintmax_t held = 0;
  for (const EntryUse& use : newest_first(folder_)) {
    held += use.bytes;
    if (held > room_.count()) {
      remove_entry(use.entry);
    }
  }
}

}  // namespace highwater
