#include "tools/text/progress_line.hpp"

#include <iostream>
#include <unistd.h>

#include <fmt/format.h>

namespace highwater {

ProgressLine::ProgressLine(std::size_t total, std::string_view what)
    : total_(total), what_(what), is_shown_(::isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
  if (is_shown_) {
    std::cerr << "\r                              \r";
  }
}

void ProgressLine::show(std::size_t done, std::size_t total) const {
  if (is_shown_) {
    std::cerr << fmt::format("\r{} of {} {}", done, total, what_) << std::flush;
  }
}

}  // namespace highwater
