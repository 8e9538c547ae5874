// Stream capture and graphs: captures are tracked because PyTorch's private pools follow them; a
// graph itself is an empty object with one node (none at all would make PyTorch warn).
#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/core/streams.hpp"
#include "tools/record/fakecuda/cudart/errors.hpp"

namespace highwater::fakecuda {
namespace {

struct Graph {
  int unused = 0;
};

struct GraphExec {
  int unused = 0;
};

int status_of(const Stream& stream) {
  return capture_of(stream) != 0 ? abi::kCaptureStatusActive : abi::kCaptureStatusNone;
}

abi::Error begin(abi::Handle handle) {
  Stream* const stream = find_stream(handle);
  if (stream == nullptr) {
    return fail(abi::kErrorInvalidResourceHandle);
  }
  if (capture_of(*stream) != 0) {
    return fail(abi::kErrorIllegalState);
  }
  begin_capture(*stream);
  return abi::kSuccess;
}

template <class T>
void put(T* to, T value) {
  if (to != nullptr) {
    *to = value;
  }
}

abi::Error capture_info(abi::Handle handle, int* status, unsigned long long* id, void** graph,
                        void** dependencies, std::size_t* count) {
  const Stream* const stream = find_stream(handle);
  if (stream == nullptr) {
    return fail(abi::kErrorInvalidResourceHandle);
  }
  put(status, status_of(*stream));
  put<unsigned long long>(id, capture_of(*stream));
  put<void*>(graph, nullptr);
  put<void*>(dependencies, nullptr);
  put<std::size_t>(count, 0);
  return abi::kSuccess;
}

}  // namespace

FAKECUDA_API abi::Error cudaStreamBeginCapture(abi::Handle stream, int) {
  return begin(stream);
}

FAKECUDA_API abi::Error cudaStreamBeginCaptureToGraph(abi::Handle stream, Graph*, const void*,
                                                      const void*, std::size_t, int) {
  return begin(stream);
}

FAKECUDA_API abi::Error cudaStreamEndCapture(abi::Handle handle, Graph** graph) {
  Stream* const stream = find_stream(handle);
  if (stream == nullptr || !end_capture(*stream)) {
    return fail(stream == nullptr ? abi::kErrorInvalidResourceHandle : abi::kErrorIllegalState);
  }
  put(graph, new Graph);
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaStreamIsCapturing(abi::Handle handle, int* status) {
  return capture_info(handle, status, nullptr, nullptr, nullptr, nullptr);
}

FAKECUDA_API abi::Error cudaStreamGetCaptureInfo_v2(abi::Handle handle, int* status,
                                                    unsigned long long* id, void** graph,
                                                    void** dependencies, std::size_t* count) {
  return capture_info(handle, status, id, graph, dependencies, count);
}

FAKECUDA_API abi::Error cudaStreamGetCaptureInfo_v3(abi::Handle handle, int* status,
                                                    unsigned long long* id, void** graph,
                                                    void** dependencies, void** edges,
                                                    std::size_t* count) {
  put<void*>(edges, nullptr);
  return capture_info(handle, status, id, graph, dependencies, count);
}

#if FAKECUDA_MAJOR >= 13
FAKECUDA_API abi::Error cudaStreamGetCaptureInfo(abi::Handle handle, int* status,
                                                 unsigned long long* id, void** graph,
                                                 void** dependencies, void** edges,
                                                 std::size_t* count) {
  return cudaStreamGetCaptureInfo_v3(handle, status, id, graph, dependencies, edges, count);
}
#else
FAKECUDA_API abi::Error cudaStreamGetCaptureInfo(abi::Handle handle, int* status,
                                                 unsigned long long* id) {
  return capture_info(handle, status, id, nullptr, nullptr, nullptr);
}
#endif

FAKECUDA_API abi::Error cudaThreadExchangeStreamCaptureMode(int* mode) {
  thread_local int kept = 0;  // cudaStreamCaptureModeGlobal
  const int old = kept;
  kept = *mode;
  *mode = old;
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaGraphCreate(Graph** graph, unsigned) {
  *graph = new Graph;
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaGraphGetNodes(const Graph*, abi::Handle* nodes, std::size_t* count) {
  if (nodes == nullptr) {
    *count = 1;
  } else if (*count > 0) {
    nodes[0] = 0x30;
    *count = 1;
  }
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaGraphInstantiate(GraphExec** executable, const Graph*,
                                             unsigned long long) {
  *executable = new GraphExec;
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaGraphInstantiateWithFlags(GraphExec** executable, const Graph* graph,
                                                      unsigned long long flags) {
  return cudaGraphInstantiate(executable, graph, flags);
}

FAKECUDA_API abi::Error cudaGraphDestroy(Graph* graph) {
  delete graph;
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaGraphExecDestroy(GraphExec* executable) {
  delete executable;
  return abi::kSuccess;
}

}  // namespace highwater::fakecuda
