// Which PyTorch releases write a snapshot with these keys.
//
// The file has no version number, but each release that added a key can be recognised by it. If the
// file has no record that would carry the key, the range stays wide.
#pragma once

#include "traces/formats/snapshot/snapshot_words.hpp"
#include "traces/recording.hpp"

namespace highwater::detail {

struct WriterKeys {
  bool is_whole = false;  ///< a full snapshot, not the bare list of segments
  bool has_entries = false;
  bool has_segments = false;
  bool has_settings = false;
  bool has_annotations = false;
  KeySet entry;
  KeySet segment;
  KeySet block;
  KeySet settings;
};

WriterVersion writer_version(const WriterKeys& keys);

}  // namespace highwater::detail
