// The tables behind the 8-byte values of a pickle that is being read.
#pragma once

#include <span>
#include <string_view>

#include "traces/formats/pickle/pickle_objects.hpp"
#include "traces/formats/pickle/text_pool.hpp"

namespace highwater::detail {

struct PickleStore {
  /// `words` become the first texts, so that their ids are known in advance.
  explicit PickleStore(std::span<const std::string_view> words) : texts(words) {}

  PickleObjects objects;
  TextPool texts;
};

}  // namespace highwater::detail
