#include "tools/studies/scan/scan_items.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>

#include "sim/replay/parallel.hpp"
#include "traces/error.hpp"
#include "traces/formats/bytes/compression.hpp"

namespace highwater {
namespace {

namespace fs = std::filesystem;

/// Real snapshots grow 5 to 58 times (byte_source.hpp): what is counted where nothing says it.
constexpr std::uint64_t kUsualGrowth = 30;

bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// The number at `at`, one separator before it allowed.
std::optional<int> number_at(const std::string& text, std::size_t at) {
  if (at < text.size() && (text[at] == '_' || text[at] == '-' || text[at] == '=')) {
    ++at;
  }
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + std::min(at, text.size()), end, number);
  return error == std::errc{} && at < text.size() && is_digit(text[at]) ? std::optional(number)
                                                                        : std::nullopt;
}

bool is_trace_name(fs::path path) {
  if (compression_of(path) != Compression::none) {
    path.replace_extension();
  }
  const std::string ending = path.extension().string();
  return ending == ".pickle" || ending == ".pkl" || ending == ".hwt" || ending == ".trace";
}

std::uint64_t unpacked_size(const fs::path& name, std::uint64_t size) {
  return compression_of(name) == Compression::none ? size : size * kUsualGrowth;
}

ScanItem item_of(const fs::path& file) {
  std::error_code unknown;
  const std::uintmax_t size = fs::file_size(file, unknown);
  return {.file = file, .unpacked = unknown ? 0 : unpacked_size(file, size)};
}

void add_members(const fs::path& file, ExpansionLimit expansion, std::vector<ScanItem>& items) {
  const std::size_t before = items.size();
  std::string error;
  try {
    ArchiveReader reader(file, expansion);
    while (reader.next()) {
      if (is_trace_name(reader.member())) {
        items.push_back({.file = file,
                         .member = reader.member(),
                         .position = reader.position(),
                         .unpacked = unpacked_size(reader.member(), reader.size())});
      }
    }
    error = !reader.damage().empty() ? reader.damage()
            : items.size() == before
                ? InputError(file.string(), "", "contains no .pickle, .pkl, .hwt or .trace file",
                             "pack the snapshots themselves")
                      .what()
                : "";
  } catch (const Error& damage) {
    error = damage.what();
  }
  if (!error.empty()) {
    items.push_back({.file = file, .error = error});
  }
}

void add_items(const fs::path& file, ExpansionLimit expansion, std::vector<ScanItem>& items) {
  if (is_archive_name(file)) {
    add_members(file, expansion, items);
  } else {
    items.push_back(item_of(file));
  }
}

ScanItem unreadable(const fs::path& path, const std::error_code& error) {
  const InputError reason(path.string(), "", "cannot be read: " + error.message(),
                          "check its permissions");
  return {.file = path, .error = reason.what()};
}

/// Files that may be snapshots or archives, and what could not be looked at. Links to folders are
/// not followed.
class Walk {
 public:
  explicit Walk(const fs::path& folder) {
    add_folder(folder);
    std::ranges::sort(found_, {}, &ScanItem::file);
  }

  [[nodiscard]] const std::vector<ScanItem>& found() const { return found_; }

 private:
  void add_folder(const fs::path& folder) {
    std::error_code error;
    for (fs::directory_iterator it(folder, error); !error && it != fs::directory_iterator();
         it.increment(error)) {
      add(*it);
    }
    if (error) {
      found_.push_back(unreadable(folder, error));
    }
  }

  void add(const fs::directory_entry& entry) {
    std::error_code error;
    if (entry.symlink_status(error).type() == fs::file_type::directory) {
      add_folder(entry.path());
    } else if (is_trace_name(entry.path()) || is_archive_name(entry.path())) {
      const bool is_file = entry.is_regular_file(error);
      if (error) {
        found_.push_back(unreadable(entry.path(), error));
      } else if (is_file) {
        found_.push_back({.file = entry.path()});
      }
    }
  }

  std::vector<ScanItem> found_;
};

std::vector<ScanItem> items_below(const fs::path& folder, ExpansionLimit expansion) {
  const Walk walk(folder);
  if (walk.found().empty()) {
    throw InputError(folder.string(), "",
                     "contains no .pickle, .pkl, .hwt or .trace file, and no archive",
                     "name the folder that the snapshots were written to");
  }
  std::vector<ScanItem> items;
  for (const ScanItem& each : walk.found()) {
    if (each.error.empty()) {
      add_items(each.file, expansion, items);
    } else {
      items.push_back(each);
    }
  }
  return items;
}

}  // namespace

std::optional<int> rank_in(const std::string& name) {
  std::string text = name;
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const std::string_view word : {"rank", "r"}) {
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
      const bool begins_word = at == 0 || !is_letter(text[at - 1]);
      const auto number = number_at(text, at + word.size());
      if (begins_word && number) {
        return number;
      }
    }
  }
  return std::nullopt;
}

std::optional<int> rank_of(const ScanItem& item) {
  const fs::path path = item.path();
  const auto by_name = rank_in(path.filename().string());
  return by_name ? by_name : rank_in(path.parent_path().filename().string());
}

std::vector<ScanItem> find_traces(const fs::path& folder, ExpansionLimit expansion) {
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (!fs::exists(status)) {
    throw InputError(folder.string(), "", "does not exist", "name a folder with snapshots");
  }
  if (fs::is_directory(status)) {
    return items_below(folder, expansion);
  }
  std::vector<ScanItem> items;
  add_items(folder, expansion, items);
  return items;
}

OpenArchives::Reader OpenArchives::take(const ScanItem& item) {
  const auto is_before = [&](const Idle& idle) {
    return idle.file == item.file && idle.reader->position() < item.position;
  };
  const std::lock_guard lock(lock_);
  auto nearest = idle_.end();
  for (auto it = idle_.begin(); it != idle_.end(); ++it) {
    if (is_before(*it) &&
        (nearest == idle_.end() || it->reader->position() > nearest->reader->position())) {
      nearest = it;
    }
  }
  if (nearest == idle_.end()) {
    return nullptr;
  }
  Reader reader = std::move(nearest->reader);
  idle_.erase(nearest);
  return reader;
}

void OpenArchives::keep(const fs::path& file, Reader reader) {
  const std::lock_guard lock(lock_);
  idle_.push_back({file, std::move(reader)});
  if (idle_.size() > core_count()) {
    idle_.erase(idle_.begin());
  }
}

bool OpenArchives::goes_to(ArchiveReader& reader, const ScanItem& item) {
  while (reader.position() < item.position && reader.next()) {
  }
  return reader.position() == item.position && reader.member() == item.member;
}

/// A reader that was kept may not get past what is damaged where a new one does, which knows that
/// member's length from its header alone.
OpenArchives::Reader OpenArchives::reader_at(const ScanItem& item) {
  try {
    if (Reader kept = take(item); kept && goes_to(*kept, item)) {
      return kept;
    }
  } catch (const InputError&) {
  }
  auto fresh = std::make_unique<ArchiveReader>(item.file, expansion_);
  if (!goes_to(*fresh, item)) {
    throw InputError(item.path().string(), "", "is gone: the archive has changed meanwhile",
                     "scan it again");
  }
  return fresh;
}

TraceFile OpenArchives::read(const ScanItem& item, const ReadingOptions& reading) {
  Reader reader = reader_at(item);
  try {
    TraceFile file = read_trace_source(reader->content(), StackMode::keep, reading);
    keep(item.file, std::move(reader));
    return file;
  } catch (const Error&) {
    keep(item.file, std::move(reader));  // the next member may be whole
    throw;
  }
}

}  // namespace highwater
