#include "tools/record/fakecuda/kernels/runtime_programs.hpp"

#include <cstdlib>
#include <cstring>

#include "tools/record/fakecuda/core/lock.hpp"

namespace highwater::fakecuda {
namespace {

constexpr char kImagePrefix[] = "program of the fake nvrtc ";

// Never destroyed: calls may come after exit() has begun.
std::vector<std::shared_ptr<const RuntimeProgram>>& programs() {
  static auto* const kept = new std::vector<std::shared_ptr<const RuntimeProgram>>;
  return *kept;
}

}  // namespace

std::string keep_program(RuntimeProgram program) {
  const auto hold = hold_state();
  programs().push_back(std::make_shared<const RuntimeProgram>(std::move(program)));
  return kImagePrefix + std::to_string(programs().size() - 1);
}

std::shared_ptr<const RuntimeProgram> program_of(const void* image) {
  const char* const text = static_cast<const char*>(image);
  if (text == nullptr || std::strncmp(text, kImagePrefix, sizeof kImagePrefix - 1) != 0) {
    return nullptr;
  }
  const auto hold = hold_state();
  const std::size_t number = std::strtoull(text + sizeof kImagePrefix - 1, nullptr, 10);
  return number < programs().size() ? programs()[number] : nullptr;
}

}  // namespace highwater::fakecuda
