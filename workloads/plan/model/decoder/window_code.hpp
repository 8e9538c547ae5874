// Which layers of a decoder attend within a window, and the masks that this takes
// (modeling_NAME.py and configuration_NAME.py of transformers 5.23).
#pragma once

#include <cstdint>

namespace highwater {

/// Which layers have the window that a configuration gives.
enum class WindowedLayers : std::uint8_t {
  none,
  all,
  switched,          ///< all, but only with use_sliding_window (Qwen3-MoE)
  listed,            ///< from max_window_layers on, and only with use_sliding_window (Qwen)
  late,              ///< from max_window_layers on (dots.1)
  early_alternate,   ///< every second before max_window_layers, with use_sliding_window (Qwen2-MoE)
  all_but_nth,       ///< every pattern-th layer sees everything
  all_but_first_of,  ///< the first of every `pattern` layers sees everything
  unrotated          ///< those without positions, and only with use_sliding_window (SmolLM 3)
};

/// Whether a window needs use_sliding_window as well.
bool has_switch(WindowedLayers windows);

/// The masks that a forward makes.
enum class MaskKinds : std::uint8_t {
  one,
  used,  ///< one for each kind of layer that there is, kept in a dictionary
  all    ///< one for each kind, also of one without a layer
};

/// Whether masks are made with the positions.
enum class MaskPositions : std::uint8_t {
  given,
  left_out  ///< AFMoE
};

struct WindowCode {
  WindowedLayers layers = WindowedLayers::none;
  std::int64_t pattern = 4;
  MaskKinds masks = MaskKinds::one;
  MaskPositions mask_positions = MaskPositions::given;
};

}  // namespace highwater
