// The functions of fakecuda.h.
#include <algorithm>
#include <cstring>
#include <string>

#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/core/announced_split.hpp"
#include "tools/record/fakecuda/core/answers.hpp"
#include "tools/record/fakecuda/core/crash.hpp"
#include "tools/record/fakecuda/core/launches.hpp"
#include "tools/record/fakecuda/core/log.hpp"
#include "tools/record/fakecuda/core/settings.hpp"
#include "tools/record/fakecuda/core/unmodelled.hpp"
#include "tools/record/fakecuda/fakecuda.h"

namespace highwater::fakecuda {

FAKECUDA_API void fakecuda_answer(const void* bytes, std::size_t n) {
  add_answer(bytes, n);
}

FAKECUDA_API void fakecuda_forget_answers() {
  forget_answers();
}

FAKECUDA_API void fakecuda_read_environment() {
  read_settings_again();
  reopen_log();
}

FAKECUDA_API unsigned long long fakecuda_launches() {
  return launch_count();
}

FAKECUDA_API unsigned long long fakecuda_reads() {
  return unknown_reads();
}

FAKECUDA_API std::size_t fakecuda_unmodelled(char* text, std::size_t n) {
  const std::string lines = unmodelled_calls();
  if (n > 0) {
    const std::size_t copied = std::min(lines.size(), n - 1);
    std::memcpy(text, lines.data(), copied);
    text[copied] = '\0';
  }
  return lines.size();
}

FAKECUDA_API void fakecuda_announce_split(int rank, int size) {
  announce_split(size > 0 ? std::optional(Place{rank, size}) : std::nullopt);
}

FAKECUDA_API void fakecuda_on_crash(const char* statement) {
  run_python_on_crash(statement);
}

}  // namespace highwater::fakecuda
