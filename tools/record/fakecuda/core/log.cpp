#include "tools/record/fakecuda/core/log.hpp"

#include <cstdarg>
#include <cstdio>

#include "tools/record/fakecuda/core/environment.hpp"
#include "tools/record/fakecuda/core/settings.hpp"

namespace highwater::fakecuda {
namespace {

std::FILE* open_log() {
  const std::string& path = settings().log;
  if (path.empty()) {
    return nullptr;
  }
  std::FILE* const file = std::fopen(path.c_str(), "we");
  if (file == nullptr) {
    reject_environment("FAKE_CUDA_LOG", path, "cannot be opened for writing");
  }
  std::setvbuf(file, nullptr, _IOLBF, 1 << 16);  // whole lines, even if the process is killed
  return file;
}

std::FILE*& log_file() {
  static std::FILE* file = open_log();
  return file;
}

}  // namespace

void log_line(const char* format, ...) {
  if (log_file() == nullptr) {
    return;
  }
  std::va_list arguments;
  va_start(arguments, format);
  std::vfprintf(log_file(), format, arguments);
  va_end(arguments);
}

void reopen_log() {
  log_file() = open_log();  // the parent's stays open: others may write to it
}

bool logs_kernels() {
  return settings().log_kernels && log_file() != nullptr;
}

}  // namespace highwater::fakecuda
