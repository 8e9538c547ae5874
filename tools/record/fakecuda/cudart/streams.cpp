#include "tools/record/fakecuda/core/streams.hpp"

#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/cudart/errors.hpp"

namespace highwater::fakecuda {
namespace {

// Runs the function with the stream, or fails if the handle names none.
template <class Function>
abi::Error with_stream(abi::Handle handle, Function function) {
  Stream* const stream = find_stream(handle);
  if (stream == nullptr) {
    return fail(abi::kErrorInvalidResourceHandle);
  }
  function(*stream);
  return abi::kSuccess;
}

}  // namespace

FAKECUDA_API abi::Error cudaStreamCreateWithPriority(abi::Handle* stream, unsigned flags,
                                                     int priority) {
  *stream = create_stream(priority, flags);
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaStreamCreateWithFlags(abi::Handle* stream, unsigned flags) {
  *stream = create_stream(0, flags);
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaStreamCreate(abi::Handle* stream) {
  *stream = create_stream(0, 0);
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaStreamDestroy(abi::Handle stream) {
  return destroy_stream(stream) ? abi::kSuccess : fail(abi::kErrorInvalidResourceHandle);
}

FAKECUDA_API abi::Error cudaStreamGetPriority(abi::Handle handle, int* priority) {
  return with_stream(handle, [&](const Stream& stream) { *priority = stream.priority; });
}

FAKECUDA_API abi::Error cudaStreamGetFlags(abi::Handle handle, unsigned* flags) {
  return with_stream(handle, [&](const Stream& stream) { *flags = stream.flags; });
}

FAKECUDA_API abi::Error cudaStreamGetId(abi::Handle handle, unsigned long long* id) {
  return with_stream(handle, [&](const Stream& stream) { *id = stream.id; });
}

FAKECUDA_API abi::Error cudaStreamGetDevice(abi::Handle handle, int* device) {
  return with_stream(handle, [&](const Stream& stream) { *device = stream.device; });
}

// Answering "not ready" here would not end any loop: only events lag.
FAKECUDA_API abi::Error cudaStreamQuery(abi::Handle handle) {
  return with_stream(handle, [](const Stream&) {});
}

FAKECUDA_API abi::Error cudaStreamSynchronize(abi::Handle handle) {
  return with_stream(handle, [](Stream& stream) { finish_stream(stream); });
}

FAKECUDA_API abi::Error cudaStreamWaitEvent(abi::Handle handle, const Event* event, unsigned) {
  return with_stream(handle, [&](Stream& stream) { wait_for_event(stream, *event); });
}

FAKECUDA_API abi::Error cudaLaunchHostFunc(abi::Handle handle, void (*function)(void*),
                                           void* data) {
  return with_stream(handle, [&](const Stream&) { function(data); });
}

FAKECUDA_API abi::Error cudaStreamAddCallback(abi::Handle handle,
                                              void (*function)(abi::Handle, abi::Error, void*),
                                              void* data, unsigned) {
  return with_stream(handle, [&](const Stream&) { function(handle, abi::kSuccess, data); });
}

}  // namespace highwater::fakecuda
