#include "tools/html/report_frames.hpp"

#include <string>

#include <fmt/format.h>

#include "tools/html/report_sites.hpp"
#include "tools/text/frame_code.hpp"

namespace highwater {
namespace {

std::string label_of(const SideTables& tables, const Frame& frame) {
  return shortened(std::string(tables.strings[frame.function]), 160);
}

std::string origin_of(const SideTables& tables, const Frame& frame) {
  const std::string file = shortened(std::string(tables.strings[frame.file]), 200);
  return frame.line > 0 ? fmt::format("{}:{}", file, frame.line) : file;
}

/// As flame.js knows them.
std::string_view name_of(FrameCode code) {
  switch (code) {
    case FrameCode::user:
      return "user";
    case FrameCode::library:
      return "library";
    case FrameCode::torch:
      return "torch";
    case FrameCode::standard:
      return "standard";
    case FrameCode::native:
      return "native";
  }
  return "";
}

}  // namespace

std::int64_t FrameNames::of(FrameId id) {
  if (!id.has_value()) {
    return -1;
  }
  const auto [found, is_new] = numbers_.try_emplace(id, names_.size());
  if (is_new) {
    const Frame& frame = tables_->stacks.frame(id);
    names_.push_back(boost::json::array{label_of(*tables_, frame), origin_of(*tables_, frame),
                                        name_of(code_of(tables_->strings[frame.file]))});
  }
  return static_cast<std::int64_t>(found->second);
}

}  // namespace highwater
