#include "tools/record/fakecuda/core/answers.hpp"

#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <string>

#include "tools/record/fakecuda/core/lock.hpp"

namespace highwater::fakecuda {
namespace {

constexpr std::size_t kSmallRead = 64;

using Answers = std::map<std::size_t, std::deque<std::string>>;  // by size

Answers& answers() {
  static auto* const made = new Answers;
  return *made;
}

std::atomic<std::uint64_t> unknown_read_count{0};

}  // namespace

void add_answer(const void* bytes, std::size_t size) {
  const auto hold = hold_state();
  answers()[size].emplace_back(static_cast<const char*>(bytes), size);
}

void forget_answers() {
  const auto hold = hold_state();
  answers().clear();
}

bool take_answer(void* to, std::size_t size) {
  const auto hold = hold_state();
  const auto found = answers().find(size);
  if (found == answers().end()) {
    return false;
  }
  std::memcpy(to, found->second.front().data(), size);
  found->second.pop_front();
  if (found->second.empty()) {
    answers().erase(found);
  }
  return true;
}

void count_unknown_read(std::size_t size) {
  if (size <= kSmallRead) {
    ++unknown_read_count;
  }
}

std::uint64_t unknown_reads() {
  return unknown_read_count;
}

}  // namespace highwater::fakecuda
