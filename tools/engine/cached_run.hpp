// One entry of the cache of runs (run_cache.hpp): its files, its mark and its sum.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace highwater {

/// A word of 36 letters that stands for `content` (a name-based UUID, RFC 9562 section 5.5).
std::string run_key(std::string_view content);

/// Whether `folder` is one, no link to one, that belongs to this user and nobody else can write to.
bool is_private_folder(const std::filesystem::path& folder);

/// Whether `folder` is an entry of this cache, finished or not: by its name (a key, with digits
/// behind it until it is finished), its owner and its mark.
bool is_entry(const std::filesystem::path& folder);

/// Whether its files are those that were kept under its name. @pre is_entry(entry)
bool is_whole(const std::filesystem::path& entry);

/// Copies the files of `run` into the empty folder `entry`, and marks it as that of `key`.
/// @throws std::system_error
void fill_entry(const std::filesystem::path& entry, const std::string& key,
                const std::filesystem::path& run);

/// Removes its own files, and the folder unless it holds others.
void remove_entry(const std::filesystem::path& entry);

struct EntryUse {
  std::filesystem::path entry;
  std::filesystem::file_time_type last;
  std::uintmax_t bytes = 0;
};

/// Of an entry that another process may be removing.
EntryUse use_of(const std::filesystem::path& entry);

/// Now is when it was used last.
void note_use(const std::filesystem::path& entry);

}  // namespace highwater
