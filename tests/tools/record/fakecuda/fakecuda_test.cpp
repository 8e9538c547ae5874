// Devices, settings, processes.
#include <string>

#include <catch2/catch.hpp>

#include "tests/support/temp_dir.hpp"
#include "tests/tools/record/fakecuda/probe_run.hpp"

using namespace highwater;

namespace {

// What the scenario prints under both majors.
void check(const std::string& scenario, const std::string& environment,
           const std::string& expected) {
  const int major = GENERATE(12, 13);
  CAPTURE(major, environment);
  const ProbeRun run = run_probe(major, scenario, environment);
  CHECK(run.out == expected);
  CHECK(run.code == 0);
}

void check_rejected(const std::string& environment, const std::string& message) {
  const int major = GENERATE(12, 13);
  const ProbeRun run = run_probe(major, "properties", environment);
  CHECK(run.code == 3);
  CHECK(run.out == "fake CUDA device: " + message + "\n");
}

}  // namespace

TEST_CASE("fakecuda: the device is an A100 with 80 GB unless something else is said",
          "[fakecuda][device]") {
  check("properties", "", R"(error 0 devices 1
name NVIDIA A100-SXM4-80GB
capability 8.0
multiprocessors 108
memory 84987084800
threads 2048
blocks 32
l2 41943040
shared 167936 166912
cluster 0
)");
}

TEST_CASE("fakecuda: FAKE_CUDA_GPU describes the device, the capability completes it",
          "[fakecuda][device]") {
  check("properties",
        "FAKE_CUDA_GPU='name=NVIDIA H100 80GB HBM3;major=9;minor=0;multiprocessors=132;"
        "memory=84943044608;l2=30M' FAKE_CUDA_DEVICES=8 FAKE_CUDA_CAPACITY=40G",
        R"(error 0 devices 8
name NVIDIA H100 80GB HBM3
capability 9.0
multiprocessors 132
memory 42949672960
threads 2048
blocks 32
l2 31457280
shared 233472 232448
cluster 1
)");
}

TEST_CASE("fakecuda: CUDA_VISIBLE_DEVICES hides devices", "[fakecuda][device]") {
  check("properties", "CUDA_VISIBLE_DEVICES=", "error 101 devices 0\n");
}

TEST_CASE("fakecuda: a malformed variable ends the program", "[fakecuda][settings]") {
  check_rejected("FAKE_CUDA_CAPACITY=8GB",
                 "FAKE_CUDA_CAPACITY=8GB: expected a whole number with an optional suffix K, M, G "
                 "or T");
  check_rejected("FAKE_CUDA_DEVICES=9", "FAKE_CUDA_DEVICES=9: expected a number from 1 to 8");
  check_rejected("FAKE_CUDA_ADDRESS=best-fit",
                 "FAKE_CUDA_ADDRESS=best-fit: expected bump or first-fit");
  check_rejected("FAKE_CUDA_GPU=major", "FAKE_CUDA_GPU=major: 'major' is not key=value");
  check_rejected("FAKE_CUDA_GPU='major=8;minor=5'",
                 "FAKE_CUDA_GPU=major=8;minor=5: no limits are known for compute capability 8.5");
  check_rejected("FAKE_CUDA_GPU=sms=3",
                 "FAKE_CUDA_GPU=sms=3: unknown key 'sms'; known are name, major, minor, "
                 "multiprocessors, memory, clock, memory_clock, threads, blocks, l2, shared_sm, "
                 "shared_block");
  check_rejected("FAKE_CUDA_GPU='multiprocessors=many'",
                 "FAKE_CUDA_GPU=multiprocessors=many: 'many' is not a number");
}

TEST_CASE("fakecuda: errors are remembered once; setting a device makes its context",
          "[fakecuda][device]") {
  check("errors", "", R"(set device 8: 101
last 101 invalid device ordinal
then 0
free of nothing known: 1
contexts 0
contexts 1
)");
}

TEST_CASE("fakecuda: a forked child goes on with what its parent had", "[fakecuda][process]") {
  check("forked", "", "children that went on 20\nparent 0\n");
}

TEST_CASE("fakecuda: calls after exit has begun work", "[fakecuda][process]") {
  check("late", "", "free 0\n");
}

TEST_CASE("fakecuda: NVML reports the device's memory", "[fakecuda][nvml]") {
  check("nvml", "FAKE_CUDA_CAPACITY=10M", R"(init 0
handle 0
total 10485760 free 6291456 used 4194304
device 8: 2
)");
}

TEST_CASE("fakecuda: memory counts against the capacity in units of 2 MiB", "[fakecuda][memory]") {
  check("capacity", "FAKE_CUDA_CAPACITY=10M FAKE_CUDA_CONTEXT=1M", R"(free 9.0 of 10.0 MiB
malloc 4 MiB: 0
malloc 1 MiB: 0
free 3.0 of 10.0 MiB
malloc 8 MiB: 2
error stays: 2
free 0 0
again 1
free 9.0 of 10.0 MiB
)");
}

TEST_CASE("fakecuda: freed addresses are used again only first-fit", "[fakecuda][memory]") {
  check("addresses", "", R"(malloc 2 MiB: 0
malloc 2 MiB: 0
malloc 2 MiB: 0
second - first 2097152
third - first 4194304
)");
  check("addresses", "FAKE_CUDA_ADDRESS=first-fit", R"(malloc 2 MiB: 0
malloc 2 MiB: 0
malloc 2 MiB: 0
second - first 2097152
third - first 0
)");
}

TEST_CASE("fakecuda: physical memory lives as long as its handle or a mapping",
          "[fakecuda][memory]") {
  check("expandable", "FAKE_CUDA_CAPACITY=8M", R"(reserve 0
free 8.0 of 8.0 MiB
create 4 MiB: 0
map 0
map there again 1
release 0
free 4.0 of 8.0 MiB
create 6 MiB: 2
odd size 1
unmap 0
free 8.0 of 8.0 MiB
free addresses 0
again 1
)");
}

// 3 MiB of 8 are taken by others; the process gives back its own when it ends.
TEST_CASE("fakecuda: processes share what FAKE_CUDA_SHARED counts", "[fakecuda][memory]") {
  const test::TempDir folder;
  const std::string file = (folder / "device").string();
  test::write_file(file, std::string("\0\0\x30\0\0\0\0\0", 8));  // of device 0
  for (int i = 0; i < 2; ++i) {
    const ProbeRun run =
        run_probe(12, "expandable", "FAKE_CUDA_CAPACITY=11M FAKE_CUDA_SHARED=" + file);
    CHECK_THAT(run.out, Catch::Contains("free 8.0 of 11.0 MiB\ncreate 4 MiB: 0") &&
                            Catch::Contains("create 6 MiB: 2"));
  }
  CHECK(test::read_file(file).substr(0, 8) == std::string("\0\0\x30\0\0\0\0\0", 8));
}

TEST_CASE("fakecuda: memory pools count what is used", "[fakecuda][memory]") {
  check("pool", "FAKE_CUDA_CAPACITY=8M", R"(pool 0
malloc 0
free 0
used 0 high 3145728
too much 2
)");
}

TEST_CASE("fakecuda: pinned, device and ordinary memory are told apart", "[fakecuda][memory]") {
  check("pinned", "", R"(pinned 1
device 2
ordinary 0
free 0
again 1
)");
}

TEST_CASE("fakecuda: a shared handle leads to the allocation's address", "[fakecuda][memory]") {
  check("ipc", "", "get 0\nopen 0\nbase 1\n");
}

TEST_CASE("fakecuda: the number of streams is not limited, handles count up",
          "[fakecuda][streams]") {
  check("streams", "", R"(last 1879f00
synchronize 0
destroy 0
again 400
unknown 400
)");
}

TEST_CASE("fakecuda: with a lag an event is ready after launches, queries or synchronization",
          "[fakecuda][events]") {
  check("events", "FAKE_CUDA_EVENT_LAG=3", R"(never recorded 0
at once 600
after two launches and a query 0
waited for by the device 600
and by the host 0
synchronized 0
)");
}

TEST_CASE("fakecuda: a capture takes in the streams that wait for it", "[fakecuda][graphs]") {
  check("capture", "", R"(begin 0
begin again 401
side before 0
side joined 1
end 0
both 0 0
end again 401
instantiate 0
)");
}

TEST_CASE("fakecuda: copied bytes are known until a launch, the rest reads as zero",
          "[fakecuda][contents]") {
  check("contents", "", R"(never written 0 (1)
copied 22 (1)
moved 33 (1)
filled 0 (2)
before it 11 (2)
behind it 33 (2)
after a launch 0 (3)
while others are known again 0 (4)
big 0 (4)
)");
}

TEST_CASE("fakecuda: answers are given by size, in their order", "[fakecuda][contents]") {
  check("answers", "", R"(first 5 (0)
second 6 (0)
third 0 (1)
forgotten 0.0 (2)
)");
}

TEST_CASE("fakecuda: a program's variables have a copy on each device, outside of its memory",
          "[fakecuda][contents]") {
  check("device_variables", "FAKE_CUDA_DEVICES=2 FAKE_CUDA_CAPACITY=8M", R"(unknown 13
size 8
address 0, the same again 1, on the other device 0
free 8.0 of 8.0 MiB
write 0 read 7
past its end 1
of nothing known 13
)");
}

TEST_CASE("fakecuda: modules load and their kernels count as launches", "[fakecuda][driver]") {
  check("driver_launch", "", "load 0\nfunction 0\nlaunch 0\nlaunches 2\n");
}

TEST_CASE("fakecuda: the driver's functions are found by name", "[fakecuda][driver]") {
  check("entry_points", "", R"(cuMemCreate 0
the linked one 1
cuMemGetAddressRange 0
cuNoSuchFunction 1
null 1
before 12.5 with two parameters 1
then with three 1
context 1 green 0
table 500, null 1
)");
}

TEST_CASE("fakecuda: a product of matrices may change any memory", "[fakecuda][libraries]") {
  check("cublas", "", "stream 10000\ngemm 0\nknown before, now 0\nlaunches 1\n");
}

// As in simulations, which do not know how many kernels a product is made of.
TEST_CASE("fakecuda: events lag by kernels, not by computations of a library",
          "[fakecuda][events][libraries]") {
  check("computations_and_events", "FAKE_CUDA_EVENT_LAG=2",
        "after two products 600\nafter a query and a kernel 0\n");
}

TEST_CASE("fakecuda: cuBLASLt tells its release and how its algorithm is configured",
          "[fakecuda][libraries]") {
  const int major = GENERATE(12, 13);
  CHECK(run_probe(major, "cublas_lt", "").out ==
        "version " + std::string(major == 12 ? "120804" : "130401") + R"(
1 algorithm, K in 1 part, 4 bytes
cluster 0, behind it 7, 2 bytes
too little room: 7
)");
}

// As libnvrtc of 12.8.93 and 13.2.86 answer.
TEST_CASE("fakecuda: the compiler tells for which architectures it compiles",
          "[fakecuda][libraries]") {
  const int major = GENERATE(12, 13);
  const std::string expected =
      major == 12 ? "17 architectures, the first 50, the last 120, behind it 0\nascending 1\n"
                  : "12 architectures, the first 75, the last 121, behind it 0\nascending 1\n";
  CHECK(run_probe(major, "compiler", "").out == expected);
}

// With 136 registers a thread a warp takes 4352 of the 16384 in each of four parts: 12 warps, so 4
// blocks of 3. One of 13 is refused, since it counts as 16. 74 + 2 + 1 KiB of shared memory (the
// dynamic; what the kernel declares, without the 1 KiB of the system in its section; the system's)
// leave 2 blocks in 228 KiB.
TEST_CASE("fakecuda: occupancy follows from what NVIDIA's compiler says of a kernel",
          "[fakecuda][libraries]") {
  const std::string gpu =
      "FAKE_CUDA_GPU='name=H100;major=9;minor=0;multiprocessors=132;memory=80G'";
  check("occupancy", gpu + " FAKE_CUDNN_COMPILER=" HIGHWATER_STAND_IN_COMPILER,
        "of 96 threads 4, of 128 with 74 KiB 2, of 416 0\n");
  check("occupancy", gpu, "of 96 threads 21, of 128 with 74 KiB 3, of 416 4\n");
}

// Layer 0 has 4 * 20 * (10 + 20) = 2400 weights, layer 1 has 4 * 20 * (20 + 20) = 3200, and there
// are 2 layers * 4 gates * 2 * 20 = 320 biases, of 4 bytes each. In layer 1 the four matrices of
// the input take 1600 elements, the biases of layer 0 take 160.
TEST_CASE("fakecuda: an LSTM's weights have cuDNN's layout", "[fakecuda][libraries]") {
  check("cudnn", "", "weights 23680\nstate matrix of layer 1: 20 x 20 at 16000, bias at 23360\n");
}

TEST_CASE("fakecuda: cuDNN tells what a configuration needs before its plan is built",
          "[fakecuda][libraries]") {
  check("cudnn_graph", "FAKE_CUDNN_WORKSPACE=4K",
        "1 workspace 4096\n1 shared memory 0, behind it -1\nengine 17 is there\n");
}

TEST_CASE("fakecuda: cuDNN's plans tell where they had a workspace, and for which operation",
          "[fakecuda][libraries]") {
  check("cudnn_executions", "", "1 with a workspace: at 4096, operation 11\n2 launches\n");
}

TEST_CASE("fakecuda: a communicator knows its rank; gathers move what is known",
          "[fakecuda][libraries]") {
  check("nccl", "", R"(init 0
rank 3 of 8
from the last rank 4
from the first 4 and the last 4
announced: rank 1 of 4
not announced: 8 ranks
)");
}

TEST_CASE("fakecuda: calls without a model are listed, computations are not",
          "[fakecuda][unmodelled]") {
  check("unmodelled", "", R"(size 0 context 1
length 49
cuGreenCtxCreate 1
cusolverDnSgetrf_bufferSize 2
cuGre
)");
}

TEST_CASE("fakecuda: the log has a line for every memory call", "[fakecuda][log]") {
  check("pool", "FAKE_CUDA_LOG=/dev/stdout FAKE_CUDA_CAPACITY=8M",
        R"(malloc 0x200000000000 3145728 device 0
free 0x200000000000
malloc failed 16777216 device 0
pool 0
malloc 0
free 0
used 0 high 3145728
too much 2
)");
}
