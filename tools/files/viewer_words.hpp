// What the peak that PyTorch's viewer draws is made of, and why it is neither of the two figures
// that a program prints (sim/recordings/viewer_curve.hpp).
#pragma once

#include <string>

#include "sim/recordings/viewer_curve.hpp"
#include "sim/replay/replay_result.hpp"

namespace highwater {

/// `peak` is that of the recording's replay.
std::string viewer_words(const ViewerCurve& curve, const Usage& peak, const WriterVersion& writer);

}  // namespace highwater
