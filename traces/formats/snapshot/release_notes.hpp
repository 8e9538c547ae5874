// Whether memory that was released before an allocation was released by it or by an empty_cache, as
// the lists of frames tell: an allocation that tries again after releasing what is cached passes
// its own context on, so that its entries share one list with it. An empty_cache has another list,
// or that of whoever allocated the segment.
// Source: release_block and record_trace of c10/cuda/CUDACachingAllocator.cpp, PyTorch 2.6
// and 2.15; a list for each traceback: torch/csrc/profiler/combined_traceback.cpp, symbolize.
#pragma once

#include <cstddef>
#include <optional>

#include "traces/allocator_notes.hpp"
#include "traces/recording.hpp"

namespace highwater::detail {

class ReleaseNotes {
 public:
  struct Note {
    std::size_t entry = 0;  ///< before which it lies
    AllocatorNote::Kind kind = AllocatorNote::Kind::retry;
    std::int64_t time_us = -1;
  };

  /// The next entry, whose `stack` is the number of its list, and its place.
  std::optional<Note> follow(const RecordedEntry& entry, std::size_t place);

 private:
  void released(const RecordedEntry& entry, std::size_t place);
  [[nodiscard]] std::optional<Note> judge(const RecordedEntry& allocation) const;

  std::optional<Note> first_;       ///< of the releases since the last request, its kind open
  StackId list_;                    ///< of these ...
  bool is_one_list_ = true;         ///< ... where they share one
  std::optional<StackId> gaining_;  ///< of the device's answer to the allocation
};

Annotation annotation_of(const ReleaseNotes::Note& note, int device);

}  // namespace highwater::detail
