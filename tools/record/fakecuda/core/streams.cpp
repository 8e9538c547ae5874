#include "tools/record/fakecuda/core/streams.hpp"

#include <array>
#include <chrono>
#include <deque>

#include "tools/record/fakecuda/core/current_device.hpp"
#include "tools/record/fakecuda/core/launches.hpp"
#include "tools/record/fakecuda/core/lock.hpp"
#include "tools/record/fakecuda/core/settings.hpp"

namespace highwater::fakecuda {
namespace {

constexpr std::uint64_t kFirstHandle = 0x10000;
constexpr std::uint64_t kHandleStep = 0x100;
constexpr std::uint64_t kDefaultHandles = 3;

struct Streams {
  std::deque<Stream> created;  // index = (handle - kFirstHandle) / kHandleStep; never removed, for
                               // events may still point to a destroyed stream
  std::array<std::array<Stream, kDefaultHandles>, kMaxDevices> defaults;
  std::array<std::uint64_t, kMaxDevices> device_finished{};
  std::uint64_t position = 0;
  std::uint64_t captures = 0;
};

Streams& streams() {
  static auto* const made = new Streams;
  return *made;
}

std::size_t index_of(int device) {
  return static_cast<std::size_t>(device);
}

bool is_delayed() {
  return settings().event_lag > 0 || settings().event_queries > 0;
}

double now_milliseconds() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Whatever the stream waited for before `upto` is complete as well.
void finish_up_to(Stream& stream, std::uint64_t upto) {
  if (stream.finished >= upto) {
    return;
  }
  stream.finished = upto;
  std::vector<StreamWait> done, open;
  for (const StreamWait& wait : stream.waits) {
    (wait.at <= upto ? done : open).push_back(wait);
  }
  stream.waits.swap(open);
  for (const StreamWait& wait : done) {
    finish_up_to(*wait.other, wait.upto);
  }
}

bool is_ready(const Event& event) {
  if (!is_delayed() || event.stream == nullptr ||
      event.position <= streams().device_finished[index_of(event.device)] ||
      event.position <= event.stream->finished) {
    return true;
  }
  return event.queries >= settings().event_queries &&
         kernel_count() - event.kernels + event.queries >= settings().event_lag;
}

}  // namespace

std::uint64_t create_stream(int priority, unsigned flags) {
  const auto hold = hold_state();
  const std::uint64_t handle = kFirstHandle + streams().created.size() * kHandleStep;
  streams().created.push_back(
      {.device = current_device(), .priority = priority, .flags = flags, .id = handle});
  return handle;
}

Stream* find_stream(std::uint64_t handle) {
  const auto hold = hold_state();
  if (handle < kDefaultHandles) {
    const int device = current_device();
    Stream& found = streams().defaults[index_of(device)][handle];
    found.device = device;
    found.id = handle;
    return &found;
  }
  const std::uint64_t index = (handle - kFirstHandle) / kHandleStep;
  if (handle < kFirstHandle || handle % kHandleStep != 0 || index >= streams().created.size() ||
      streams().created[index].destroyed) {
    return nullptr;
  }
  return &streams().created[index];
}

bool destroy_stream(std::uint64_t handle) {
  Stream* const stream = handle < kFirstHandle ? nullptr : find_stream(handle);
  if (stream == nullptr) {
    return false;
  }
  const auto hold = hold_state();
  stream->destroyed = true;
  stream->capture = 0;
  return true;
}

void finish_stream(Stream& stream) {
  const auto hold = hold_state();
  finish_up_to(stream, streams().position);
}

void finish_device(int device) {
  const auto hold = hold_state();
  streams().device_finished[index_of(device)] = streams().position;
}

void record_event(Event& event, Stream& stream) {
  const auto hold = hold_state();
  event = {.device = stream.device,
           .stream = &stream,
           .position = ++streams().position,
           .kernels = kernel_count(),
           .capture = stream.capture,
           .milliseconds = now_milliseconds()};
}

bool query_event(Event& event) {
  const auto hold = hold_state();
  if (is_ready(event)) {
    return true;
  }
  ++event.queries;
  return false;
}

void finish_event(const Event& event) {
  const auto hold = hold_state();
  if (event.stream != nullptr) {
    finish_up_to(*event.stream, event.position);
  }
}

void wait_for_event(Stream& stream, const Event& event) {
  const auto hold = hold_state();
  if (event.capture != 0) {
    stream.capture = event.capture;
  }
  if (is_delayed() && event.stream != nullptr && event.stream != &stream &&
      event.stream->finished < event.position) {
    stream.waits.push_back({++streams().position, event.stream, event.position});
  }
}

std::uint64_t begin_capture(Stream& stream) {
  const auto hold = hold_state();
  stream.capture = ++streams().captures;
  return stream.capture;
}

bool end_capture(Stream& stream) {
  const auto hold = hold_state();
  const std::uint64_t capture = stream.capture;
  if (capture == 0) {
    return false;
  }
  for (Stream& other : streams().created) {
    if (other.capture == capture) {
      other.capture = 0;
    }
  }
  stream.capture = 0;
  return true;
}

std::uint64_t capture_of(const Stream& stream) {
  const auto hold = hold_state();
  return stream.capture;
}

}  // namespace highwater::fakecuda
