#include "tools/reports/simulate/recording_report.hpp"

#include <cstdint>
#include <cstdlib>

#include <fmt/format.h>

#include "tools/reports/diff/peak_sizes_report.hpp"
#include "tools/text/report.hpp"
#include "tools/text/safe_text.hpp"
#include "tools/text/shell_word.hpp"

namespace highwater {
namespace {

constexpr std::size_t kBlocksShown = 4;

/// Less than a thousandth of the peak explains nothing.
bool is_small(const PeakSize& size, const RecordingCheck& check) {
  return static_cast<std::uint64_t>(std::abs(size.change())) * 1000 < check.blocks.first.count();
}

/// The sizes of `check` whose change has `sign`, as far as they are listed, in `words`.
template <class Words>
std::vector<std::string> changed_sizes(const RecordingCheck& check, int sign, std::size_t most,
                                       const Words& words) {
  std::vector<std::string> lines;
  for (const PeakSize& size : check.blocks.rows) {
    if (lines.size() < most && size.change() * sign > 0 && !is_small(size, check)) {
      lines.push_back(printable(words(size)));
    }
  }
  return lines;
}

}  // namespace

std::vector<std::string> unexplained_blocks(const RecordingCheck& check, std::size_t most) {
  return changed_sizes(check, -1, most, [](const PeakSize& size) {
    return fmt::format("{} x {} (plan: {}): {}", size.first, to_iec(size.bytes), size.second,
                       sites_text(size.only_first));
  });
}

std::vector<std::string> unrecorded_blocks(const RecordingCheck& check, std::size_t most) {
  return changed_sizes(check, 1, most, [](const PeakSize& size) {
    return fmt::format("{} x {} (recorded: {}): {}", size.second, to_iec(size.bytes), size.first,
                       sites_text(size.only_second));
  });
}

void add_unexplained(const RecordingCheck& check, Report& report) {
  const std::string file = shell_word(printable(check.file));
  report.items("Blocks that the recording has at its peak and its plan has not",
               unexplained_blocks(check, kBlocksShown));
  report.items("Blocks that its plan has at its peak and the recording has not",
               unrecorded_blocks(check, kBlocksShown));
  report.text("\n");
  if (std::abs(check.allocated_error()) < std::abs(check.reserved_error()) / 2) {
    report.paragraph(
        fmt::format("Reserved differs more than allocated: what decides it is asked for at another "
                    "time than the peak, in an evaluation for example. highwater diff {} sets both "
                    "side by side, phase by phase.",
                    file));
  }
  report.paragraph(
      fmt::format("The figures that follow are the plan's, not the recorded program's. Of the "
                  "program as it ran: highwater replay {} (explain and advise, too). For other "
                  "batches and lengths: record it two or three times more, and highwater fit.",
                  file));
}

}  // namespace highwater
