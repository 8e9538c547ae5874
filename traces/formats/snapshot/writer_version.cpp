#include "traces/formats/snapshot/writer_version.hpp"

namespace highwater::detail {
namespace {

bool has_stream_reuse(const WriterKeys& keys) {
  return keys.settings.has(Word::graph_capture_record_stream_reuse);
}

// No allocator_settings: 2.2 or older, unless only the list of segments was written.
WriterVersion without_settings(const WriterKeys& keys) {
  const bool is_newer_block = keys.block.has(Word::address) || keys.block.has(Word::frames);
  const bool is_2_1_or_newer = is_newer_block || keys.segment.has(Word::is_expandable);
  const std::string oldest = is_2_1_or_newer ? "2.1" : "1.13";
  if (keys.has_entries) {
    return keys.entry.has(Word::time_us) ? WriterVersion{"2.2", "2.2"}
                                         : WriterVersion{oldest, "2.1"};
  }
  if (keys.has_segments && !is_2_1_or_newer) {
    return {"1.13", "2.0"};
  }
  return {oldest, keys.is_whole ? "2.2" : ""};
}

// The newest clues are in the entries; a trimmed file may lack the others.
WriterVersion with_compile_context(const WriterKeys& keys) {
  if (keys.entry.has(Word::user_metadata)) {
    return {"2.10", "2.11"};
  }
  if (keys.has_settings) {
    return has_stream_reuse(keys) ? WriterVersion{"2.9", "2.9"} : WriterVersion{"2.8", "2.8"};
  }
  return {"2.8", "2.9"};
}

// Entries name their pools since 2.12; the settings of pinned memory appear since 2.13.
WriterVersion with_pool_ids(const WriterKeys& keys) {
  if (keys.settings.has(Word::max_cached_size)) {
    return {"2.13", ""};
  }
  return {"2.12", keys.has_settings ? "2.12" : ""};
}

WriterVersion with_annotations(const WriterKeys& keys) {
  if (has_stream_reuse(keys)) {
    return {"2.9", ""};
  }
  return {"2.5", keys.has_entries ? "2.7" : "2.8"};
}

}  // namespace

WriterVersion writer_version(const WriterKeys& keys) {
  if (keys.block.has(Word::history)) {
    return {"1.13", "2.0"};
  }
  if (keys.entry.has(Word::pool_id) || keys.entry.has(Word::internal_metadata)) {
    return with_pool_ids(keys);
  }
  if (keys.entry.has(Word::user_metadata) || keys.entry.has(Word::compile_context)) {
    return with_compile_context(keys);
  }
  if (keys.has_annotations) {
    return with_annotations(keys);
  }
  return keys.has_settings ? WriterVersion{"2.3", "2.4"} : without_settings(keys);
}

}  // namespace highwater::detail
