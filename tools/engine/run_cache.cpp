#include "tools/engine/run_cache.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <fmt/format.h>

namespace highwater {
namespace {

namespace fs = std::filesystem;

struct CachedRun {
  fs::path folder;
  fs::file_time_type last_use;
  std::uintmax_t size = 0;
};

CachedRun cached_run(const fs::path& folder) {
  CachedRun run{folder, fs::last_write_time(folder)};
  for (const fs::directory_entry& file : fs::directory_iterator(folder)) {
    run.size += file.file_size();
  }
  return run;
}

std::vector<CachedRun> newest_first(const fs::path& cache) {
  std::vector<CachedRun> runs;
  for (const fs::directory_entry& entry : fs::directory_iterator(cache)) {
    runs.push_back(cached_run(entry.path()));
  }
  std::ranges::sort(runs, std::ranges::greater{}, &CachedRun::last_use);
  return runs;
}

fs::path folder_in(const char* variable, const char* below) {
  const char* const value = std::getenv(variable);
  return value == nullptr || *value == '\0' ? fs::path{} : fs::path(value) / below;
}

}  // namespace

std::string run_key(std::string_view content) {
  boost::uuids::name_generator_sha1 name(boost::uuids::ns::oid());
  return boost::uuids::to_string(name(content.data(), content.size()));
}

fs::path user_cache_folder() {
  if (const char* const chosen = std::getenv("HIGHWATER_CACHE"); chosen != nullptr) {
    return chosen;
  }
  const fs::path cache = folder_in("XDG_CACHE_HOME", "highwater");
  return cache.empty() ? folder_in("HOME", ".cache/highwater") : cache;
}

RunCache::RunCache(fs::path folder, Bytes room) : folder_(std::move(folder)), room_(room) {}

std::optional<fs::path> RunCache::find(const std::string& key) const {
  std::error_code missing;
  const fs::path run = folder_ / key;
  if (folder_.empty() || key.empty() || !fs::is_directory(run, missing)) {
    return std::nullopt;
  }
  fs::last_write_time(run, fs::file_time_type::clock::now(), missing);
  return run;
}

void RunCache::keep(const std::string& key, const fs::path& run) const {
  if (folder_.empty() || key.empty()) {
    return;
  }
  std::error_code ignored;
  fs::create_directories(folder_, ignored);
  const fs::path copy = folder_ / fmt::format("{}.{}.{}", key, getpid(), run.filename().string());
  fs::copy(run, copy, ignored);
  if (!ignored) {
    fs::rename(copy, folder_ / key, ignored);
  }
  fs::remove_all(copy, ignored);
  try {
    make_room();
  } catch (const fs::filesystem_error&) {  // another process removed the same folder
  }
}

void RunCache::forget(const std::string& key) const {
  std::error_code ignored;
  fs::remove_all(folder_ / key, ignored);
}

void RunCache::make_room() const {
  std::uintmax_t held = 0;
  for (const CachedRun& run : newest_first(folder_)) {
    held += run.size;
    if (held > room_.count()) {
      fs::remove_all(run.folder);
    }
  }
}

}  // namespace highwater
