#include "tools/files/viewer_words.hpp"

#include <fmt/format.h>

#include "tools/text/plural.hpp"

namespace highwater {
namespace {

std::string drawn_older_words(const ViewerCurve& curve) {
  if (curve.older_blocks == 0) {
    return "no block is older than the history";
  }
  return fmt::format(
      "{} ({}) older than the history {} drawn from its start: each that is freed in it, or in use "
      "at its end",
      plural(curve.older_blocks, "block"), to_iec(curve.older),
      curve.older_blocks == 1 ? "is" : "are");
}

std::string older_words(const ViewerCurve& curve) {
  const std::string drawn = drawn_older_words(curve);
  return curve.left_out == Bytes{}
             ? drawn
             : fmt::format("{}; {} that then waits for another stream is left out", drawn,
                           to_iec(curve.left_out));
}

std::string allocated_words(const ViewerCurve& curve, Bytes allocated) {
  const char* rule = "counts whole blocks, and each until its free is requested";
  return allocated == curve.peak
             ? fmt::format("max_memory_allocated is as high here, though it {}", rule)
             : fmt::format("max_memory_allocated, {}, {}", to_iec(allocated), rule);
}

// Files with a history in their blocks are of torch 2.0 or older.
std::string own_page_words(const ViewerCurve& curve, const WriterVersion& writer) {
  if (writer.newest != "2.0" || curve.older_in_use == Bytes{} || curve.older_in_use == curve.peak) {
    return "";
  }
  return fmt::format(" (the page that torch 2.0 itself writes leaves out those in use: peak {})",
                     to_iec(curve.peak - curve.older_in_use));
}

}  // namespace

std::string viewer_words(const ViewerCurve& curve, const Usage& peak, const WriterVersion& writer) {
  return fmt::format(
      "memory_viz adds up the sizes that the program requested, from each alloc to its "
      "free_completed; {}{}. {}; max_memory_reserved, {}, adds the free memory that PyTorch keeps.",
      older_words(curve), own_page_words(curve, writer), allocated_words(curve, peak.allocated),
      to_iec(peak.reserved));
}

}  // namespace highwater
