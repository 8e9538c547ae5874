// Streams, events, captures, copies.
#include <cstring>

#include "tests/tools/record/fakecuda/cuda_api.hpp"
#include "tests/tools/record/fakecuda/probe.hpp"

namespace highwater::fakecuda_probe {
namespace {

abi::Handle new_stream() {
  abi::Handle stream = 0;
  cudaStreamCreateWithPriority(&stream, 0, 0);
  return stream;
}

void launch() {
  cudaLaunchKernel(nullptr, {1, 1, 1}, {1, 1, 1}, nullptr, 0, 0);
}

// The int there, and how many reads have delivered unknown values so far.
void say_int(const char* name, std::uint64_t address) {
  int value = -1;
  cudaMemcpy(&value, pointer(address), sizeof value, 2);
  say("%s %d (%llu)", name, value, fakecuda_reads());
}

int capturing(abi::Handle stream) {
  int status = -1;
  cudaStreamIsCapturing(stream, &status);
  return status;
}

}  // namespace

void streams() {
  abi::Handle last = 0;
  for (int i = 0; i < 100000; ++i) {
    last = new_stream();
  }
  say("last %llx", static_cast<unsigned long long>(last));
  say("synchronize %d", cudaStreamSynchronize(last));
  say("destroy %d", cudaStreamDestroy(last));
  say("again %d", cudaStreamDestroy(last));
  say("unknown %d", cudaStreamSynchronize(12345));
}

// FAKE_CUDA_EVENT_LAG=3
void events() {
  const abi::Handle side = new_stream();
  void *first = nullptr, *second = nullptr, *third = nullptr;
  cudaEventCreateWithFlags(&first, 2);
  cudaEventCreateWithFlags(&second, 2);
  cudaEventCreateWithFlags(&third, 2);
  say("never recorded %d", cudaEventQuery(first));
  cudaEventRecord(first, side);
  say("at once %d", cudaEventQuery(first));
  launch();
  launch();
  say("after two launches and a query %d", cudaEventQuery(first));
  cudaEventRecord(second, side);
  cudaStreamWaitEvent(0, second, 0);
  say("waited for by the device %d", cudaEventQuery(second));
  cudaStreamSynchronize(0);
  say("and by the host %d", cudaEventQuery(second));
  cudaEventRecord(third, side);
  cudaStreamSynchronize(side);
  say("synchronized %d", cudaEventQuery(third));
  cudaEventDestroy(first);
  cudaEventDestroy(second);
  cudaEventDestroy(third);
}

void capture() {
  const abi::Handle stream = new_stream(), side = new_stream();
  void *event = nullptr, *graph = nullptr, *executable = nullptr;
  cudaEventCreateWithFlags(&event, 2);
  say("begin %d", cudaStreamBeginCapture(stream, 0));
  say("begin again %d", cudaStreamBeginCapture(stream, 0));
  say("side before %d", capturing(side));
  cudaEventRecord(event, stream);
  cudaStreamWaitEvent(side, event, 0);
  say("side joined %d", capturing(side));
  say("end %d", cudaStreamEndCapture(stream, &graph));
  say("both %d %d", capturing(stream), capturing(side));
  say("end again %d", cudaStreamEndCapture(stream, &executable));
  say("instantiate %d", cudaGraphInstantiateWithFlags(&executable, graph, 0));
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  cudaEventDestroy(event);
}

void contents() {
  std::uint64_t address = 0;
  cudaMalloc(&address, kMiB);
  const int values[] = {11, 22, 33};
  say_int("never written", address);
  cudaMemcpy(pointer(address), values, sizeof values, 1);
  say_int("copied", address + 4);
  cudaMemcpy(pointer(address + 512), pointer(address), sizeof values, 3);
  say_int("moved", address + 512 + 8);
  cudaMemset(pointer(address + 4), 1, 4);
  say_int("filled", address + 4);
  say_int("before it", address);
  say_int("behind it", address + 8);
  launch();
  say_int("after a launch", address);
  cudaMemcpy(pointer(address + 512), values, sizeof values, 1);
  say_int("while others are known again", address);
  char big[100];
  std::memset(big, 1, sizeof big);
  cudaMemcpy(big, pointer(address), sizeof big, 2);
  say("big %d (%llu)", big[99], fakecuda_reads());
}

void answers() {
  std::uint64_t address = 0;
  cudaMalloc(&address, kMiB);
  const int first = 5, second = 6;
  const double wide = 2.5;
  fakecuda_answer(&first, sizeof first);
  fakecuda_answer(&second, sizeof second);
  fakecuda_answer(&wide, sizeof wide);
  say_int("first", address);
  say_int("second", address);
  say_int("third", address);
  fakecuda_forget_answers();
  double read = 1;
  cudaMemcpy(&read, pointer(address), sizeof read, 2);
  say("forgotten %.1f (%llu)", read, fakecuda_reads());
}

void driver_launch() {
  void *module = nullptr, *function = nullptr;
  say("load %d", cuModuleLoadData(&module, "ptx"));
  say("function %d", cuModuleGetFunction(&function, module, "triton_mm"));
  say("launch %d", cuLaunchKernel(function, 2, 1, 1, 128, 1, 1, 0, 0, nullptr, nullptr));
  launch();
  say("launches %llu", fakecuda_launches());
}

}  // namespace highwater::fakecuda_probe
