// What a scan reads: snapshot files below a folder, and those inside archives there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tools/files/input.hpp"
#include "traces/formats/archives/archive_reader.hpp"

namespace highwater {

/// One snapshot, or what kept an archive or a folder from being listed to its end.
struct ScanItem {
  std::filesystem::path file;
  std::string member = {};     ///< of an archive; empty: the file itself
  std::size_t position = 0;    ///< of the member among the archive's files, from 1
  std::uint64_t unpacked = 0;  ///< bytes that it has when decompressed, as far as known (estimated)
  std::string error = {};

  /// file, or file/member
  [[nodiscard]] std::filesystem::path path() const { return member.empty() ? file : file / member; }
};

/// "rank3", "rank_3", "rank-03", "_r12": the number; nothing if no part of the name contains one.
std::optional<int> rank_in(const std::string& name);

/// By the name of the file, else of its folder, else of the archive it is in.
std::optional<int> rank_of(const ScanItem& item);

/// Snapshots below `folder` by their endings (.pickle, .pkl, .hwt, .trace, compressed or not), and
/// those in archives (is_archive_name), in order of name; an archive's in its own order. What
/// cannot be looked at, such as a folder without permission, is an item with an error. A single
/// file is accepted with any extension.
/// @throws InputError when it does not exist or holds none
std::vector<ScanItem> find_traces(const std::filesystem::path& folder, ExpansionLimit expansion);

/// Readers of archives, each where the last snapshot that it gave, or could not give, ended: pieces
/// come in order, so every thread walks an archive once.
class OpenArchives {
 public:
  explicit OpenArchives(ExpansionLimit expansion) : expansion_(expansion) {}

  /// The snapshot of `item`, a member. @throws InputError
  TraceFile read(const ScanItem& item, const ReadingOptions& reading);

 private:
  using Reader = std::unique_ptr<ArchiveReader>;

  struct Idle {
    std::filesystem::path file;
    Reader reader;
  };

  static bool goes_to(ArchiveReader& reader, const ScanItem& item);
  Reader reader_at(const ScanItem& item);
  Reader take(const ScanItem& item);
  void keep(const std::filesystem::path& file, Reader reader);

  ExpansionLimit expansion_;
  std::mutex lock_;
  std::vector<Idle> idle_;  ///< oldest first
};

}  // namespace highwater
