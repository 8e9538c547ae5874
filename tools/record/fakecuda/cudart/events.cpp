#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/core/current_device.hpp"
#include "tools/record/fakecuda/core/streams.hpp"
#include "tools/record/fakecuda/cudart/errors.hpp"

namespace highwater::fakecuda {

FAKECUDA_API abi::Error cudaEventCreateWithFlags(Event** event, unsigned) {
  *event = new Event{.device = current_device()};
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaEventCreate(Event** event) {
  return cudaEventCreateWithFlags(event, 0);
}

FAKECUDA_API abi::Error cudaEventDestroy(Event* event) {
  delete event;
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaEventRecordWithFlags(Event* event, abi::Handle handle, unsigned) {
  Stream* const stream = find_stream(handle);
  if (stream == nullptr) {
    return fail(abi::kErrorInvalidResourceHandle);
  }
  record_event(*event, *stream);
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaEventRecord(Event* event, abi::Handle handle) {
  return cudaEventRecordWithFlags(event, handle, 0);
}

FAKECUDA_API abi::Error cudaEventQuery(Event* event) {
  return query_event(*event) ? abi::kSuccess : fail(abi::kErrorNotReady);
}

FAKECUDA_API abi::Error cudaEventSynchronize(const Event* event) {
  finish_event(*event);
  return abi::kSuccess;
}

// The host's time between the records: nothing else takes time here.
FAKECUDA_API abi::Error cudaEventElapsedTime(float* milliseconds, const Event* start,
                                             const Event* end) {
  *milliseconds = static_cast<float>(end->milliseconds - start->milliseconds);
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaEventElapsedTime_v2(float* milliseconds, const Event* start,
                                                const Event* end) {
  return cudaEventElapsedTime(milliseconds, start, end);
}

}  // namespace highwater::fakecuda
