// Streams, events and captures: what the host can observe of the device's progress.
//
// Positions in time are numbers of one sequence that counts event records and waits. Without
// FAKE_CUDA_EVENT_LAG or FAKE_CUDA_EVENT_QUERIES everything is done at once. With a lag of N, an
// event is ready after N further kernels (its own queries count too, so that polling ends), or
// once the host has synchronized with its stream, with a later event on it, or with a stream that
// waited for it.
#pragma once

#include <cstdint>
#include <vector>

namespace highwater::fakecuda {

struct Stream;

/// A stream waits for the work of `other` up to `upto`.
struct StreamWait {
  std::uint64_t at;
  Stream* other;
  std::uint64_t upto;
};

struct Stream {
  int device = 0;
  int priority = 0;
  unsigned flags = 0;
  std::uint64_t id = 0;
  std::uint64_t finished = 0;  ///< the host knows that everything up to here is done
  std::uint64_t capture = 0;   ///< the capture it takes part in, 0 for none
  bool destroyed = false;
  std::vector<StreamWait> waits;
};

struct Event {
  int device = 0;
  Stream* stream = nullptr;    ///< where it was recorded, nullptr before
  std::uint64_t position = 0;  ///< of the record
  std::uint64_t kernels = 0;   ///< launched at the time of the record
  std::uint64_t queries = 0;   ///< since then
  std::uint64_t capture = 0;
  double milliseconds = 0;  ///< host clock at the record
};

/// Handles count up from 0x10000 in steps of 0x100: snapshots show them, and pointers would differ
/// from run to run. The handles 0, 1 and 2 name the current device's default streams.
std::uint64_t create_stream(int priority, unsigned flags);
/// False for a handle that names no stream.
bool destroy_stream(std::uint64_t handle);
/// nullptr for a handle that names no stream.
Stream* find_stream(std::uint64_t handle);

void finish_stream(Stream& stream);
void finish_device(int device);

void record_event(Event& event, Stream& stream);
/// Whether the event is ready; a query that finds it is not counts.
bool query_event(Event& event);
void finish_event(const Event& event);
/// The stream waits for the event, and joins the capture that the event belongs to.
void wait_for_event(Stream& stream, const Event& event);

/// Begins a capture on the stream and returns its number.
std::uint64_t begin_capture(Stream& stream);
/// Ends the capture for all streams that joined it; false when the stream is not capturing.
bool end_capture(Stream& stream);
std::uint64_t capture_of(const Stream& stream);

}  // namespace highwater::fakecuda
