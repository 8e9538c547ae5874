// Sizes of what a model is fed besides tokens. What a plan leaves out, the model's configuration
// decides (tools/python/engine/highwater_engine/architectures/sizes.py).
#pragma once

#include <cstdint>
#include <optional>

namespace highwater {

/// In pixels.
struct ImageSize {
  std::int64_t height = 0;
  std::int64_t width = 0;

  bool operator==(const ImageSize&) const = default;
};

struct InputSizes {
  std::optional<ImageSize> image;
  std::optional<double> audio_seconds;
  std::optional<std::int64_t> video_frames;
  std::optional<std::int64_t> objects;  ///< in each image, that a detector learns from
  /// Each batch has lengths and sizes of its own, none above those given (varied_lengths.hpp).
  bool vary = false;
};

/// Whether a plan gives a size of images, sounds or videos.
constexpr bool is_given(const InputSizes& sizes) {
  return sizes.image || sizes.audio_seconds || sizes.video_frames || sizes.objects;
}

}  // namespace highwater
