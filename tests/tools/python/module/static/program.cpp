// A program that tells whether constructors ran before main, each once, and main's arguments
// arrived, and uses what an older glibc has elsewhere: a thread, a wait, a status, random numbers,
// a function of libm.
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

namespace {

int constructed = 0;

struct Counter {
  Counter() { ++constructed; }
};

const Counter counter;

/// Whether a wait of a tenth of a second ends, and not before its time.
bool waits() {
  using namespace std::chrono_literals;
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable never;
  const auto begin = std::chrono::steady_clock::now();
  never.wait_for(lock, 100ms, [] { return false; });
  const auto waited = std::chrono::steady_clock::now() - begin;
  return waited >= 100ms && waited < 10s;
}

}  // namespace

int main(int count, char** words) {
  auto power = std::make_shared<double>(0);
  std::thread([power, count] { *power = std::pow(2.0, count); }).join();
  std::random_device device;
  const bool has_numbers = device() != device() || device() != device();
  std::printf("%d %s %g %d %d %d\n", constructed, words[count - 1], *power,
              static_cast<int>(std::filesystem::is_directory("/")), static_cast<int>(has_numbers),
              static_cast<int>(waits()));
}
