#include "tools/reports/simulate/recording_report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "tools/reports/diff/peak_sizes_report.hpp"
#include "tools/text/report.hpp"
#include "tools/text/safe_text.hpp"
#include "tools/text/shell_word.hpp"

namespace highwater {
namespace {

constexpr std::size_t kBlocksShown = 4;

/// The sizes of `check` whose change has `sign`, as far as they are listed, in `words`.
template <class Words>
std::vector<std::string> changed_sizes(const RecordingCheck& check, int sign, std::size_t most,
                                       const Words& words) {
  std::vector<std::string> lines;
  for (const PeakSize& size : check.blocks.rows) {
    if (lines.size() < most && size.change() * sign > 0) {
      lines.push_back(printable(words(size)));
    }
  }
  return lines;
}

}  // namespace

std::vector<std::string> unexplained_blocks(const RecordingCheck& check, std::size_t most) {
  return changed_sizes(check, -1, most, [](const PeakSize& size) {
    return fmt::format("{} blocks of {}, of the plan {}: {}", size.first, to_iec(size.bytes),
                       size.second, sites_text(size.only_first));
  });
}

std::vector<std::string> unrecorded_blocks(const RecordingCheck& check, std::size_t most) {
  return changed_sizes(check, 1, most, [](const PeakSize& size) {
    return fmt::format("{} blocks of {}, recorded {}: {}", size.second, to_iec(size.bytes),
                       size.first, sites_text(size.only_second));
  });
}

void add_unexplained(const RecordingCheck& check, Report& report) {
  const auto list = [&](const char* heading, const std::vector<std::string>& lines) {
    if (!lines.empty()) {
      report.items(heading, lines);
    }
  };
  list("The recording has more at its peak than its plan", unexplained_blocks(check, kBlocksShown));
  list("Its plan has more at its peak than the recording", unrecorded_blocks(check, kBlocksShown));
  report.text("\n");
  report.line(
      fmt::format("The figures that follow are the plan's, not the recorded program's. Of the "
                  "program as it ran: "
                  "highwater replay {0} (explain and advise, too). For other batches and lengths: "
                  "record it two "
                  "or three times more, and highwater fit.",
                  shell_word(printable(check.file))));
  report.paragraph();
}

}  // namespace highwater
