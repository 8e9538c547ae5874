// What the figures of a message prove about its cause, and what they leave open.
//
// With A bytes allocated, R reserved, F free on the device and L allowed, PyTorch could have had
// R + min(F, L - R) when it failed: it had given back before whatever was free as a whole segment
// (release_cached_blocks in c10/cuda/CUDACachingAllocator.cpp). The request r is one that takes a
// segment of the size asked for. A + r above that is a shortage, and no setting would have served
// it; below, enough was free, but not where the request could use it. The causes are those of
// replays (sim/oom/oom_explanation.hpp), less what only a recording can tell apart: pieces, other
// streams, frees that wait. All figures are rounded, so a cause is named only where it holds for
// everything that they may stand for.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/oom/oom_explanation.hpp"
#include "tools/messages/oom_message.hpp"

namespace highwater {

/// Why no cause is named.
enum class UnclearCause : std::uint8_t {
  figures_missing,   ///< the text does not have those that decide
  figures_disagree,  ///< they contradict each other
  device_had_room,   ///< the device had more than was asked for when the message was written
  too_close,         ///< within rounding, or within the sizes that take such a segment
  pool_unknown,      ///< cudaMallocAsync does not say what its pool keeps
};

struct MessageCause {
  std::optional<OomCause> cause;
  std::optional<UnclearCause> unclear;  ///< where there is no cause
  SizeRange in_use;                     ///< allocated by tensors
  SizeRange spare;                      ///< reserved, and not in use
  SizeRange request;                    ///< that takes a segment of the size asked for
  SizeRange reach;                      ///< what PyTorch could have had
  SizeRange lacking;                    ///< request - (reach - in_use)
};

MessageCause cause_of(const MessageFigures& figures);

/// What is on the device beside PyTorch's segments.
struct BesidePytorch {
  SizeRange all;
  std::optional<SizeRange> own;     ///< of this process: its context, libraries, communicators
  std::optional<SizeRange> others;  ///< of other processes
  /// A listed process that can only be this one, as there is no room for it beside.
  const ListedProcess* itself = nullptr;
};

/// Nothing where the figures are missing or contradict each other.
std::optional<BesidePytorch> beside_pytorch(const MessageFigures& figures);

}  // namespace highwater
