// The libraries above the runtime.
#include <algorithm>
#include <string>

#include "tests/tools/record/fakecuda/cuda_api.hpp"
#include "tests/tools/record/fakecuda/probe.hpp"

namespace highwater::fakecuda_probe {
namespace {

int find(const char* name, void** function, unsigned release = FAKECUDA_MAJOR * 1000) {
  int status = -1;
  cudaGetDriverEntryPointByVersion(name, function, release, 0, &status);
  return status;
}

}  // namespace

void entry_points() {
  void* found = nullptr;
  say("cuMemCreate %d", find("cuMemCreate", &found));
  say("the linked one %d", found == reinterpret_cast<void*>(&cuMemCreate));
  say("cuMemGetAddressRange %d", find("cuMemGetAddressRange", &found));
  say("cuNoSuchFunction %d", find("cuNoSuchFunction", &found));
  say("null %d", found == nullptr);
  find("cuStreamGetCtx", &found, 12040);
  say("before 12.5 with two parameters %d", found == reinterpret_cast<void*>(&cuStreamGetCtx));
  find("cuStreamGetCtx", &found, 12050);
  say("then with three %d", found == reinterpret_cast<void*>(&cuStreamGetCtx_v2));
  abi::Handle context = 0, green = 7;
  cuStreamGetCtx_v2(0, &context, &green);
  say("context %d green %d", context != 0, green != 0);
  const void* table = &found;
  const int status = cuGetExportTable(&table, nullptr);
  say("table %d, null %d", status, table == nullptr);
}

void cublas() {
  void* handle = nullptr;
  abi::Handle stream = 0;
  std::uint64_t address = 0;
  const int value = 9;
  int read = -1;
  cublasCreate_v2(&handle);
  cublasSetStream_v2(handle, 0x10000);
  cublasGetStream_v2(handle, &stream);
  say("stream %llx", static_cast<unsigned long long>(stream));
  cudaMalloc(&address, kMiB);
  cudaMemcpy(pointer(address), &value, sizeof value, 1);
  say("gemm %d", cublasSgemm_v2());
  cudaMemcpy(&read, pointer(address), sizeof read, 2);
  say("known before, now %d", read);
  say("launches %llu", fakecuda_launches());
  cublasDestroy_v2(handle);
}

// FAKE_CUDA_EVENT_LAG=2
void computations_and_events() {
  abi::Handle side = 0;
  void* event = nullptr;
  cudaStreamCreateWithPriority(&side, 1, 0);
  cudaEventCreateWithFlags(&event, 2);
  cudaEventRecord(event, side);
  cublasSgemm_v2();
  cublasSgemm_v2();
  say("after two products %d", cudaEventQuery(event));
  cudaLaunchKernel(nullptr, {1, 1, 1}, {1, 1, 1}, nullptr, 0, 0);
  say("after a query and a kernel %d", cudaEventQuery(event));
  cudaEventDestroy(event);
}

// What a caller asks of the algorithm that it was given.
void cublas_lt() {
  constexpr int kSplitK = 2, kClusterShape = 8;
  std::uint64_t results[12] = {};
  int found = 0;
  say("version %zu", cublasLtGetVersion());
  cublasLtMatmulAlgoGetHeuristic(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, 1,
                                 results, &found);
  std::uint32_t parts = 0;
  std::uint16_t cluster[2] = {7, 7};
  std::size_t written = 0;
  cublasLtMatmulAlgoConfigGetAttribute(results, kSplitK, &parts, sizeof parts, &written);
  say("%d algorithm, K in %u part, %zu bytes", found, parts, written);
  cublasLtMatmulAlgoConfigGetAttribute(results, kClusterShape, cluster, sizeof cluster[0],
                                       &written);
  say("cluster %d, behind it %d, %zu bytes", cluster[0], cluster[1], written);
  say("too little room: %d",
      cublasLtMatmulAlgoConfigGetAttribute(results, kSplitK, &parts, 1, nullptr));
}

void compiler() {
  int count = 0;
  nvrtcGetNumSupportedArchs(&count);
  int architectures[32] = {};
  nvrtcGetSupportedArchs(architectures);
  say("%d architectures, the first %d, the last %d, behind it %d", count, architectures[0],
      architectures[count - 1], architectures[count]);
  say("ascending %d", std::is_sorted(architectures, architectures + count));
}

// How many blocks of a kernel compiled at run time a multiprocessor takes.
void occupancy() {
  const char* const text = "text";
  const char* const header = "name.h";
  const char* const option = "--gpu-architecture=sm_90";
  const char* const expression = "kernel<7>";
  void *program = nullptr, *module = nullptr, *function = nullptr;
  nvrtcCreateProgram(&program, "source", "file.cu", 1, &text, &header);
  nvrtcAddNameExpression(program, expression);
  nvrtcCompileProgram(program, 1, &option);
  const char* name = nullptr;
  nvrtcGetLoweredName(program, expression, &name);
  std::size_t size = 0;
  nvrtcGetCUBINSize(program, &size);
  std::string image(size, '\0');
  nvrtcGetCUBIN(program, image.data());
  cuModuleLoadData(&module, image.data());
  cuModuleGetFunction(&function, module, name);
  nvrtcDestroyProgram(&program);
  int few = 0, some = 0, large = 0;
  cuOccupancyMaxActiveBlocksPerMultiprocessor(&few, function, 96, 0);
  cuOccupancyMaxActiveBlocksPerMultiprocessor(&some, function, 128, 74 << 10);
  cuOccupancyMaxActiveBlocksPerMultiprocessor(&large, function, 416, 0);
  say("of 96 threads %d, of 128 with 74 KiB %d, of 416 %d", few, some, large);
}

// An LSTM of two layers, 10 inputs and 20 hidden units.
void cudnn() {
  constexpr int kLstm = 2, kDoubleBias = 2, kOneDirection = 0, kFloat = 0;
  void *rnn = nullptr, *matrix = nullptr;
  cudnnCreateRNNDescriptor(&rnn);
  cudnnSetRNNDescriptor_v8(rnn, 0, kLstm, kDoubleBias, kOneDirection, 0, kFloat, kFloat, 0, 10, 20,
                           20, 2, nullptr, 0);
  std::size_t bytes = 0;
  cudnnGetRNNWeightSpaceSize(nullptr, rnn, &bytes);
  say("weights %zu", bytes);
  cudnnCreateTensorDescriptor(&matrix);
  std::uint64_t matrix_at = 0, bias_at = 0;
  cudnnGetRNNWeightParams(nullptr, rnn, 1, bytes, 0x1000, 4, matrix, &matrix_at, nullptr, &bias_at);
  int type = 0, dimensions = 0, size[3] = {}, stride[3] = {};
  cudnnGetTensorNdDescriptor(matrix, 3, &type, &dimensions, size, stride);
  say("state matrix of layer 1: %d x %d at %llu, bias at %llu", size[1], size[2],
      static_cast<unsigned long long>(matrix_at - 0x1000),
      static_cast<unsigned long long>(bias_at - 0x1000));
  cudnnDestroyTensorDescriptor(matrix);
  cudnnDestroyRNNDescriptor(rnn);
}

// What cuDNN's frontend asks of an engine's configuration before it builds a plan.
void cudnn_graph() {
  constexpr int kEngineConfig = 3, kWorkspaceSize = 303, kSharedMemory = 304;
  constexpr int kOperationGraph = 15, kEngineGlobalCount = 802;
  constexpr int kInt64 = 3, kInt32 = 23;
  void *config = nullptr, *graph = nullptr;
  std::int64_t count = 0, workspace = -1;
  std::int32_t shared[] = {-1, -1};
  cudnnBackendCreateDescriptor(kEngineConfig, &config);
  cudnnBackendGetAttribute(config, kWorkspaceSize, kInt64, 1, &count, &workspace);
  say("%d workspace %lld", static_cast<int>(count), static_cast<long long>(workspace));
  cudnnBackendGetAttribute(config, kSharedMemory, kInt32, 1, &count, shared);
  say("%d shared memory %d, behind it %d", static_cast<int>(count), shared[0], shared[1]);
  cudnnBackendDestroyDescriptor(config);
  std::int64_t engines = -1;  // asked without a count (cudnn-frontend, plan_helpers.h)
  cudnnBackendCreateDescriptor(kOperationGraph, &graph);
  cudnnBackendGetAttribute(graph, kEngineGlobalCount, kInt64, 1, nullptr, &engines);
  say("engine 17 is %s", engines > 17 ? "there" : "missing");
  cudnnBackendDestroyDescriptor(graph);
}

/// A plan over a graph of one convolution's weight gradient, run with a workspace, then without.
void cudnn_executions() {
  constexpr int kWeightGradient = 11, kOperationGraph = 15, kConfiguration = 3, kPlan = 5,
                kVariantPack = 7;
  constexpr int kOperations = 801, kGraphOfEngine = 1300, kPlanConfiguration = 401,
                kWorkspace = 1003;
  constexpr int kPointer = 6, kDescriptor = 15;
  void *operation = nullptr, *graph = nullptr, *configuration = nullptr, *plan = nullptr,
       *variant = nullptr;
  cudnnBackendCreateDescriptor(kWeightGradient, &operation);
  cudnnBackendCreateDescriptor(kOperationGraph, &graph);
  cudnnBackendSetAttribute(graph, kOperations, kDescriptor, 1, &operation);
  cudnnBackendCreateDescriptor(kConfiguration, &configuration);
  cudnnBackendSetAttribute(configuration, kGraphOfEngine, kDescriptor, 1, &graph);
  cudnnBackendCreateDescriptor(kPlan, &plan);
  cudnnBackendSetAttribute(plan, kPlanConfiguration, kDescriptor, 1, &configuration);
  cudnnBackendCreateDescriptor(kVariantPack, &variant);
  for (const std::uint64_t address : {std::uint64_t{4096}, std::uint64_t{0}}) {
    cudnnBackendSetAttribute(variant, kWorkspace, kPointer, 1, &address);
    cudnnBackendExecute(nullptr, plan, variant);
  }
  fakecuda_workspace seen[2] = {};
  const std::size_t count = fakecuda_cudnn_workspaces(seen, 2);
  say("%d with a workspace: at %llu, operation %d", static_cast<int>(count), seen[0].address,
      seen[0].operation);
  say("%d launches", static_cast<int>(fakecuda_launches()));
}

void nccl() {
  NcclUniqueId id;
  void* communicator = nullptr;
  int size = 0, rank = 0, read = -1;
  std::uint64_t address = 0;
  const int value = 4;
  ncclGetUniqueId(&id);
  say("init %d", ncclCommInitRank(&communicator, 8, id, 3));
  ncclCommCount(communicator, &size);
  ncclCommUserRank(communicator, &rank);
  say("rank %d of %d", rank, size);
  cudaMalloc(&address, kMiB);
  cudaMemcpy(pointer(address), &value, sizeof value, 1);
  constexpr int kInt32 = 2;
  ncclAllGather(address, address + 1024, 1, kInt32, communicator, 0);
  cudaMemcpy(&read, pointer(address + 1024 + 4 * 7), sizeof read, 2);
  say("from the last rank %d", read);
  // A gather made of broadcasts: the others send what this rank sends, also those before it.
  cudaMemcpy(pointer(address), &value, sizeof value, 1);
  ncclGroupStart();
  for (int root = 0; root < 8; ++root) {
    const std::uint64_t output = address + 2048 + 4 * static_cast<std::uint64_t>(root);
    ncclBroadcast(root == rank ? address : output, output, 1, kInt32, root, communicator, 0);
  }
  ncclGroupEnd();
  int gathered[2] = {};
  cudaMemcpy(&gathered[0], pointer(address + 2048), sizeof read, 2);
  cudaMemcpy(&gathered[1], pointer(address + 2048 + 4 * 7), sizeof read, 2);
  say("from the first %d and the last %d", gathered[0], gathered[1]);
  void* part = nullptr;
  fakecuda_announce_split(1, 4);
  ncclCommSplit(communicator, 0, 0, &part, nullptr);
  ncclCommCount(part, &size);
  ncclCommUserRank(part, &rank);
  say("announced: rank %d of %d", rank, size);
  ncclCommDestroy(part);
  ncclCommSplit(communicator, 0, 0, &part, nullptr);
  ncclCommCount(part, &size);
  say("not announced: %d ranks", size);
  ncclCommDestroy(part);
  ncclCommDestroy(communicator);
}

void unmodelled() {
  void* context = nullptr;
  int size = -1;
  cublasSgemm_v2();
  cuTensorMapEncodeTiled();
  cuGreenCtxCreate(&context, nullptr, 0, 0);
  cusolverDnSgetrf_bufferSize(nullptr, 1, 1, nullptr, 1, &size);
  cusolverDnSgetrf_bufferSize(nullptr, 1, 1, nullptr, 1, &size);
  say("size %d context %d", size, context != nullptr);
  std::string text(fakecuda_unmodelled(nullptr, 0) + 1, '\0');
  say("length %zu", fakecuda_unmodelled(text.data(), text.size()));
  std::printf("%s", text.c_str());
  char start[6];
  fakecuda_unmodelled(start, sizeof start);
  say("%s", start);
}

}  // namespace highwater::fakecuda_probe
