#include "traces/redaction.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/allocator_notes.hpp"

namespace highwater {
namespace {

/// 2020-09-13 12:26:40 UTC in microseconds: where redacted recordings begin.
constexpr std::int64_t kFirstTime = 1'600'000'000'000'000;

/// Stands for "no Python file" in snapshots.
constexpr std::string_view kNoFile = "??";

/// The path from torch/ on, if `file` lies below a folder of that name.
std::optional<std::string_view> torch_path(std::string_view file) {
  const std::size_t at = file.rfind("/torch/");
  if (at != std::string_view::npos) {
    return file.substr(at + 1);
  }
  return file.starts_with("torch/") ? std::optional(file) : std::nullopt;
}

bool is_torch_symbol(std::string_view function) {
  return std::ranges::any_of(std::array<std::string_view, 3>{"torch::", "c10::", "at::"},
                             [&](std::string_view space) { return function.starts_with(space); });
}

/// A usual extension of source files: it reveals the language and nothing else.
std::string_view ending_of(std::string_view file) {
  for (const std::string_view ending : {".py", ".cpp", ".cc", ".cu", ".h", ".so"}) {
    if (file.ends_with(ending)) {
      return ending;
    }
  }
  return "";
}

/// New texts for a string table; the ids do not change.
class Renaming {
 public:
  explicit Renaming(const SideTables& tables) : tables_(&tables), texts_(tables.strings.size()) {}

  void rename_frames(TorchFrames torch_frames) {
    const std::vector<bool> kept = torch_frames == TorchFrames::kept
                                       ? strings_of_torch_alone()
                                       : std::vector<bool>(texts_.size());
    for (std::size_t i = 0; i < tables_->stacks.frame_count(); ++i) {
      const Frame& frame = tables_->stacks.frame(FrameId{i});
      const std::string_view file = tables_->strings[frame.file];
      if (file == kNoFile) {
        set(frame.file, std::string(kNoFile));
      } else if (kept[frame.file.index()] && torch_path(file)) {
        set(frame.file, std::string(*torch_path(file)));
      }
      name(frame.file, "file", ending_of(file));
      if (kept[frame.function.index()]) {
        set(frame.function, std::string(tables_->strings[frame.function]));
      }
      name(frame.function, "f", "");
    }
  }

  /// Gives `id` a numbered name unless it has one.
  void name(StringId id, std::string_view prefix, std::string_view ending) {
    while (!texts_[id.index()]) {  // a kept text may be a numbered name
      const std::uint64_t number = ++counts_[std::string(prefix)];
      set(id, std::string(prefix) + std::to_string(number) + std::string(ending));
    }
  }

  void keep(StringId id) { set(id, std::string(tables_->strings[id])); }

  /// A table with the new texts under the old ids.
  [[nodiscard]] StringTable table() {
    StringTable table;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      name(StringId{i}, "unused", "");
      table.intern(*texts_[i]);
    }
    return table;
  }

 private:
  /// The first string to claim a text gets it: two strings must not become one.
  void set(StringId id, std::string text) {
    if (!texts_[id.index()] && taken_.emplace(text, id).second) {
      texts_[id.index()] = std::move(text);
    }
  }

  /// By StringId: strings that only PyTorch's own frames use.
  [[nodiscard]] std::vector<bool> strings_of_torch_alone() const {
    std::vector<bool> torch(texts_.size());
    std::vector<bool> others(texts_.size());
    for (std::size_t i = 0; i < tables_->stacks.frame_count(); ++i) {
      const Frame& frame = tables_->stacks.frame(FrameId{i});
      const std::string_view file = tables_->strings[frame.file];
      const bool is_torch = torch_path(file) ||
                            (file == kNoFile && is_torch_symbol(tables_->strings[frame.function]));
      for (const StringId id : {frame.file, frame.function}) {
        (is_torch ? torch : others)[id.index()] = true;
      }
    }
    for (std::size_t i = 0; i < torch.size(); ++i) {
      torch[i] = torch[i] && !others[i];
    }
    return torch;
  }

  const SideTables* tables_;
  std::vector<std::optional<std::string>> texts_;  ///< by StringId
  std::unordered_map<std::string, StringId> taken_;
  std::unordered_map<std::string, std::uint64_t> counts_;
};

std::int64_t first_time(const Recording& recording) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  const auto look_at = [&](std::int64_t time) {
    first = time >= 0 ? std::min(first, time) : first;
  };
  for (const RecordedDevice& device : recording.devices) {
    for (const RecordedEntry& entry : device.entries) {
      look_at(entry.time_us);
    }
  }
  for (const Annotation& annotation : recording.annotations) {
    look_at(annotation.time_us);
  }
  return first;
}

void move_times(Recording& recording) {
  const std::int64_t first = first_time(recording);
  const auto move = [&](std::int64_t& time) {
    time = time >= 0 ? time - first + kFirstTime : time;
  };
  for (RecordedDevice& device : recording.devices) {
    for (std::size_t i = 0; i < device.entries.size(); ++i) {
      move(device.entries[i].time_us);
    }
  }
  for (Annotation& annotation : recording.annotations) {
    move(annotation.time_us);
  }
}

void forget_unknown_words(Recording& recording) {
  recording.unknown_keys.clear();
  for (RecordedDevice& device : recording.devices) {
    std::uint64_t count = 0;
    for (const auto& [name, times] : device.unknown_actions) {
      count += times;
    }
    device.unknown_actions.clear();
    if (count != 0) {
      device.unknown_actions["user_defined"] = count;
    }
  }
}

}  // namespace

void redact(Recording& recording, TorchFrames torch_frames) {
  Renaming renaming(recording.tables);
  renaming.rename_frames(torch_frames);
  recording.tables.strings = renaming.table();
  std::unordered_map<std::string, std::string> ranges;
  for (Annotation& annotation : recording.annotations) {
    const std::string next = "range" + std::to_string(ranges.size() + 1);
    if (!allocator_note(annotation.name)) {
      annotation.name = ranges.try_emplace(annotation.name, next).first->second;
    }
  }
  recording.plan.clear();
  move_times(recording);
  forget_unknown_words(recording);
}

void redact(RequestTrace& trace, TorchFrames torch_frames) {
  Renaming renaming(trace.tables);
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::set_settings) {
      renaming.keep(event.text());
    }
  }
  renaming.rename_frames(torch_frames);
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::phase || event.kind == EventKind::op) {
      renaming.name(event.text(), event.kind == EventKind::phase ? "phase" : "op", "");
    }
  }
  trace.tables.strings = renaming.table();
  trace.allocation_names.clear();
}

}  // namespace highwater
