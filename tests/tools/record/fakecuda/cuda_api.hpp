// The functions that the probe calls, as a program compiled for CUDA declares them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tools/record/fakecuda/abi/device_properties.hpp"
#include "tools/record/fakecuda/abi/driver.hpp"
#include "tools/record/fakecuda/abi/runtime.hpp"
#include "tools/record/fakecuda/fakecuda.h"

namespace abi = highwater::fakecuda::abi;

struct NcclUniqueId {
  char bytes[128];
};

extern "C" {
int cudaGetDeviceCount(int* count);
int cudaSetDevice(int device);
#if FAKECUDA_MAJOR >= 13
int cudaGetDeviceProperties(abi::DeviceProperties* properties, int device);
#else
int cudaGetDeviceProperties_v2(abi::DeviceProperties* properties, int device);
#endif
int cudaGetLastError();
const char* cudaGetErrorString(int error);
int cudaMalloc(std::uint64_t* address, std::size_t size);
int cudaFree(std::uint64_t address);
int cudaMallocAsync(std::uint64_t* address, std::size_t size, abi::Handle stream);
int cudaFreeAsync(std::uint64_t address, abi::Handle stream);
int cudaDeviceGetDefaultMemPool(void** pool, int device);
int cudaMemPoolGetAttribute(void* pool, int attribute, void* value);
int cudaMemGetInfo(std::size_t* free, std::size_t* total);
int cudaHostAlloc(void** address, std::size_t size, unsigned flags);
int cudaFreeHost(void* address);
int cudaPointerGetAttributes(abi::PointerAttributes* attributes, const void* address);
int cudaMemcpy(void* to, const void* from, std::size_t size, int kind);
int cudaMemset(void* to, int value, std::size_t size);
void __cudaRegisterVar(void** module, char* host, char* device, const char* name, int external,
                       std::size_t size, int constant, int global);
int cudaGetSymbolAddress(std::uint64_t* address, const void* variable);
int cudaGetSymbolSize(std::size_t* size, const void* variable);
int cudaMemcpyToSymbol(const void* variable, const void* from, std::size_t size, std::size_t offset,
                       int kind);
int cudaMemcpyFromSymbol(void* to, const void* variable, std::size_t size, std::size_t offset,
                         int kind);
int cudaIpcGetMemHandle(abi::IpcHandle* handle, std::uint64_t address);
int cudaIpcOpenMemHandle(std::uint64_t* address, abi::IpcHandle handle, unsigned flags);
int cudaStreamCreateWithPriority(abi::Handle* stream, unsigned flags, int priority);
int cudaStreamDestroy(abi::Handle stream);
int cudaStreamSynchronize(abi::Handle stream);
int cudaStreamWaitEvent(abi::Handle stream, void* event, unsigned flags);
int cudaEventCreateWithFlags(void** event, unsigned flags);
int cudaEventDestroy(void* event);
int cudaEventRecord(void* event, abi::Handle stream);
int cudaEventQuery(void* event);
int cudaLaunchKernel(const void* kernel, abi::Dim3 grid, abi::Dim3 block, void** arguments,
                     std::size_t shared, abi::Handle stream);
int cudaStreamBeginCapture(abi::Handle stream, int mode);
int cudaStreamEndCapture(abi::Handle stream, void** graph);
int cudaStreamIsCapturing(abi::Handle stream, int* status);
int cudaGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long flags);
int cudaGraphDestroy(void* graph);
int cudaGraphExecDestroy(void* executable);
int cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned version,
                                     unsigned long long flags, int* status);

int cuMemAddressReserve(abi::DevicePointer* address, std::size_t size, std::size_t alignment,
                        abi::DevicePointer wanted, unsigned long long flags);
int cuMemAddressFree(abi::DevicePointer address, std::size_t size);
int cuMemCreate(abi::Handle* handle, std::size_t size, const abi::AllocationProperties* properties,
                unsigned long long flags);
int cuMemRelease(abi::Handle handle);
int cuMemMap(abi::DevicePointer address, std::size_t size, std::size_t offset, abi::Handle handle,
             unsigned long long flags);
int cuMemUnmap(abi::DevicePointer address, std::size_t size);
int cuModuleLoadData(void** module, const void* image);
int cuModuleGetFunction(void** function, void* module, const char* name);
int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                   abi::Handle stream, void** arguments, void** extra);
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* function, int threads,
                                                std::size_t shared);
int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active);
int cuTensorMapEncodeTiled();
int cuStreamGetCtx(abi::Handle stream, abi::Handle* context);
int cuStreamGetCtx_v2(abi::Handle stream, abi::Handle* context, abi::Handle* green);
int cuGetExportTable(const void** table, const void* id);
int cuGreenCtxCreate(void** context, void* description, int device, unsigned flags);

int cublasCreate_v2(void** handle);
int cublasDestroy_v2(void* handle);
int cublasSetStream_v2(void* handle, abi::Handle stream);
int cublasGetStream_v2(void* handle, abi::Handle* stream);
int cublasSgemm_v2();
std::size_t cublasLtGetVersion();
int cublasLtMatmulAlgoGetHeuristic(void* handle, void* operation, void* a, void* b, void* c,
                                   void* d, void* preference, int asked, void* results, int* found);
int cublasLtMatmulAlgoConfigGetAttribute(const void* algorithm, int attribute, void* value,
                                         std::size_t room, std::size_t* written);
int nvrtcGetNumSupportedArchs(int* count);
int nvrtcGetSupportedArchs(int* architectures);
int nvrtcCreateProgram(void** program, const char* source, const char* file, int headers,
                       const char* const* texts, const char* const* names);
int nvrtcAddNameExpression(void* program, const char* expression);
int nvrtcCompileProgram(void* program, int options, const char* const* option);
int nvrtcGetLoweredName(void* program, const char* expression, const char** name);
int nvrtcGetCUBINSize(void* program, std::size_t* size);
int nvrtcGetCUBIN(void* program, char* code);
int nvrtcDestroyProgram(void** program);
int cusolverDnSgetrf_bufferSize(void* handle, int m, int n, float* matrix, int lda, int* size);

int cudnnBackendCreateDescriptor(int type, void** descriptor);
int cudnnBackendDestroyDescriptor(void* descriptor);
int cudnnBackendSetAttribute(void* descriptor, int name, int type, std::int64_t count,
                             const void* values);
int cudnnBackendExecute(void* handle, void* plan, void* variant);
int cudnnBackendGetAttribute(void* descriptor, int name, int type, std::int64_t asked,
                             std::int64_t* count, void* out);
int cudnnCreateRNNDescriptor(void** rnn);
int cudnnDestroyRNNDescriptor(void* rnn);
int cudnnSetRNNDescriptor_v8(void* rnn, int algorithm, int mode, int bias, int direction,
                             int input_mode, int type, int math_precision, int math_type, int input,
                             int hidden, int projection, int layers, void* dropout, unsigned flags);
int cudnnGetRNNWeightSpaceSize(void* handle, void* rnn, std::size_t* bytes);
int cudnnCreateTensorDescriptor(void** tensor);
int cudnnDestroyTensorDescriptor(void* tensor);
int cudnnGetTensorNdDescriptor(void* tensor, int asked, int* type, int* dimensions, int* size,
                               int* stride);
int cudnnGetRNNWeightParams(void* handle, void* rnn, int layer, std::size_t bytes,
                            std::uint64_t space, int id, void* matrix, std::uint64_t* matrix_at,
                            void* bias, std::uint64_t* bias_at);

int ncclGetUniqueId(NcclUniqueId* id);
int ncclCommInitRank(void** communicator, int size, NcclUniqueId id, int rank);
int ncclCommSplit(void* communicator, int color, int key, void** part, const void* config);
int ncclGroupStart();
int ncclGroupEnd();
int ncclBroadcast(std::uint64_t from, std::uint64_t to, std::size_t count, int type, int root,
                  void* communicator, std::uint64_t stream);
int ncclCommCount(void* communicator, int* size);
int ncclCommUserRank(void* communicator, int* rank);
int ncclCommDestroy(void* communicator);
int ncclAllGather(std::uint64_t from, std::uint64_t to, std::size_t count, int type,
                  void* communicator, abi::Handle stream);

int ncclBroadcast(std::uint64_t from, std::uint64_t to, std::size_t count, int type, int root,
                  void* communicator, abi::Handle stream);
int ncclGroupStart();
int ncclGroupEnd();

int nvmlInit_v2();
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device);
int nvmlDeviceGetMemoryInfo(void* device, unsigned long long* total_free_used);
}
