#include "tools/record/fakecuda/core/lock.hpp"

#include <pthread.h>

namespace highwater::fakecuda {
namespace {

// Never destroyed: calls may come after exit() has begun.
std::mutex& state_mutex() {
  static auto* const mutex = [] {
    pthread_atfork([] { state_mutex().lock(); }, [] { state_mutex().unlock(); },
                   [] { state_mutex().unlock(); });
    return new std::mutex;
  }();
  return *mutex;
}

}  // namespace

std::unique_lock<std::mutex> hold_state() {
  return std::unique_lock(state_mutex());
}

}  // namespace highwater::fakecuda
