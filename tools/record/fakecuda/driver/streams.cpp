// Streams and events by the driver: the runtime's, under other names.
#include "tools/record/fakecuda/core/streams.hpp"

#include "tools/record/fakecuda/abi/driver.hpp"
#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/core/current_device.hpp"
#include "tools/record/fakecuda/driver/context.hpp"

namespace highwater::fakecuda {
namespace {

template <class Action>
abi::Result with_stream(abi::Handle handle, Action action) {
  Stream* const stream = find_stream(handle);
  if (stream == nullptr) {
    return abi::kResultInvalidHandle;
  }
  action(*stream);
  return abi::kResultSuccess;
}

template <class T>
void put(T* to, T value) {
  if (to != nullptr) {
    *to = value;
  }
}

}  // namespace

FAKECUDA_API abi::Result cuStreamCreateWithPriority(abi::Handle* stream, unsigned flags,
                                                    int priority) {
  *stream = create_stream(priority, flags);
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuStreamCreate(abi::Handle* stream, unsigned flags) {
  return cuStreamCreateWithPriority(stream, flags, 0);
}

FAKECUDA_API abi::Result cuStreamDestroy_v2(abi::Handle stream) {
  return destroy_stream(stream) ? abi::kResultSuccess : abi::kResultInvalidHandle;
}

FAKECUDA_API abi::Result cuStreamQuery(abi::Handle handle) {
  return with_stream(handle, [](const Stream&) {});
}

FAKECUDA_API abi::Result cuStreamSynchronize(abi::Handle handle) {
  return with_stream(handle, [](Stream& stream) { finish_stream(stream); });
}

FAKECUDA_API abi::Result cuStreamGetCtx(abi::Handle handle, abi::Handle* context) {
  return with_stream(handle,
                     [&](const Stream& stream) { *context = context_of_device(stream.device); });
}

// Streams belong to their device's primary context, none to a green one.
FAKECUDA_API abi::Result cuStreamGetCtx_v2(abi::Handle handle, abi::Handle* context,
                                           abi::Handle* green) {
  put(green, abi::Handle{0});
  return cuStreamGetCtx(handle, context);
}

FAKECUDA_API abi::Result cuStreamIsCapturing(abi::Handle handle, int* status) {
  return with_stream(handle,
                     [&](const Stream& stream) { *status = capture_of(stream) != 0 ? 1 : 0; });
}

FAKECUDA_API abi::Result cuStreamGetCaptureInfo_v2(abi::Handle handle, int* status,
                                                   std::uint64_t* id, void** graph,
                                                   const void** dependencies, std::size_t* count) {
  return with_stream(handle, [&](const Stream& stream) {
    const std::uint64_t capture = capture_of(stream);
    *status = capture != 0 ? 1 : 0;
    put<std::uint64_t>(id, capture);
    put<void*>(graph, nullptr);
    put<const void*>(dependencies, nullptr);
    put<std::size_t>(count, 0);
  });
}

FAKECUDA_API abi::Result cuStreamGetCaptureInfo_v3(abi::Handle handle, int* status,
                                                   std::uint64_t* id, void** graph,
                                                   const void** dependencies, const void** edges,
                                                   std::size_t* count) {
  put<const void*>(edges, nullptr);
  return cuStreamGetCaptureInfo_v2(handle, status, id, graph, dependencies, count);
}

FAKECUDA_API abi::Result cuStreamWaitEvent(abi::Handle handle, const Event* event, unsigned) {
  return with_stream(handle, [&](Stream& stream) { wait_for_event(stream, *event); });
}

FAKECUDA_API abi::Result cuLaunchHostFunc(abi::Handle handle, void (*function)(void*), void* data) {
  return with_stream(handle, [&](const Stream&) { function(data); });
}

FAKECUDA_API abi::Result cuEventCreate(Event** event, unsigned) {
  *event = new Event{.device = current_device()};
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuEventDestroy_v2(Event* event) {
  delete event;
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuEventRecord(Event* event, abi::Handle handle) {
  return with_stream(handle, [&](Stream& stream) { record_event(*event, stream); });
}

FAKECUDA_API abi::Result cuEventQuery(Event* event) {
  return query_event(*event) ? abi::kResultSuccess : abi::kResultNotReady;
}

FAKECUDA_API abi::Result cuEventSynchronize(const Event* event) {
  finish_event(*event);
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuEventElapsedTime_v2(float* milliseconds, const Event* start,
                                               const Event* end) {
  *milliseconds = static_cast<float>(end->milliseconds - start->milliseconds);
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuEventElapsedTime(float* milliseconds, const Event* start,
                                            const Event* end) {
  return cuEventElapsedTime_v2(milliseconds, start, end);
}

}  // namespace highwater::fakecuda
