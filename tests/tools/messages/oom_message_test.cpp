// Messages out of memory in logs: every release's text, what programs write around it, and what the
// figures prove. The texts follow the format strings of the releases; the sums are made by hand.
#include "tools/messages/oom_message.hpp"

#include <random>

#include <catch2/catch.hpp>

#include "tools/messages/message_cause.hpp"

using namespace highwater;

namespace {

constexpr std::int64_t kMiB = 1 << 20;
constexpr std::int64_t kGiB = 1 << 30;

std::vector<OomMessage> messages_in(std::string text) {
  return oom_messages(LogText(std::move(text)));
}

OomMessage message_in(std::string text) {
  std::vector<OomMessage> messages = messages_in(std::move(text));
  REQUIRE(messages.size() == 1);
  return messages.front();
}

/// The name of the cause, or why there is none.
std::string cause_in(const std::string& text) {
  const MessageCause cause = cause_of(message_in(text).figures);
  if (cause.cause) {
    return std::string(to_string(*cause.cause));
  }
  switch (*cause.unclear) {
    case UnclearCause::figures_missing:
      return "missing";
    case UnclearCause::figures_disagree:
      return "disagree";
    case UnclearCause::device_had_room:
      return "room";
    case UnclearCause::too_close:
      return "close";
    case UnclearCause::pool_unknown:
      return "pool";
  }
  return "";
}

/// As PyTorch 2.2 and later write it.
std::string of_today(const std::string& asked, const std::string& free, const std::string& more,
                     const std::string& allocated, const std::string& unallocated) {
  return "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate " + asked +
         ". GPU 0 has a total capacity of 39.39 GiB of which " + free + " is free. " + more +
         "Of the allocated memory " + allocated + " is allocated by PyTorch, and " + unallocated +
         " is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try "
         "setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See "
         "documentation for Memory Management  "
         "(https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)";
}

const std::string kInPieces =
    of_today("2.10 GiB", "1.31 GiB",
             "Including non-PyTorch memory, this process has 38.07 GiB memory in use. ",
             "29.40 GiB", "7.95 GiB");

/// As PyTorch 1.4 to 2.0 write it.
std::string of_torch_1(const std::string& asked, const std::string& allocated,
                       const std::string& free, const std::string& reserved) {
  return "RuntimeError: CUDA out of memory. Tried to allocate " + asked +
         " (GPU 1; 15.90 GiB total capacity; " + allocated + " already allocated; " + free +
         " free; " + reserved + " reserved in total by PyTorch)";
}

}  // namespace

TEST_CASE("message: the figures of PyTorch 2.2 and later", "[messages]") {
  const OomMessage message = message_in(kInPieces);
  CHECK(message.backend == "CUDA");
  CHECK(message.device == 0);
  CHECK(message.releases.since == "2.2");
  CHECK(message.figures.asked->text == "2.10 GiB");
  CHECK(message.figures.total->text == "39.39 GiB");
  CHECK(message.figures.free->text == "1.31 GiB");
  CHECK(message.figures.in_use->text == "38.07 GiB");
  CHECK(message.figures.allocated->text == "29.40 GiB");
  CHECK(message.figures.unallocated->text == "7.95 GiB");
  CHECK(cause_in(kInPieces) == "fragmentation");  // 29.40 + 2.10 <= 29.40 + 7.95 + 1.31
}

TEST_CASE("message: each release's words", "[messages]") {
  const auto [text, since, until, cause] = GENERATE(table<std::string, std::string, std::string,
                                                          std::string>(
      {{"RuntimeError: CUDA out of memory. Tried to allocate 12.50 MiB (GPU 0; 10.92 GiB total "
        "capacity; 8.57 GiB already allocated; 1.28 MiB free; 4.68 MiB cached)",
        "1.0", "1.3", "memory outside PyTorch"},
       {"RuntimeError: CUDA out of memory. Tried to allocate 12.50 MiB (GPU 0; 10.92 GiB total "
        "capacity; 8.57 GiB already allocated; 9.28 MiB free; 2.00 GiB cached)",
        "1.0", "1.3", "fragmentation"},
       {of_torch_1("2.00 GiB", "9.00 GiB", "1.00 GiB", "14.00 GiB"), "1.4", "2.0", "fragmentation"},
       {of_torch_1("2.00 GiB", "13.00 GiB", "1.00 GiB", "13.50 GiB"), "1.4", "2.0", "capacity"},
       {"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB (GPU 1; 15.90 "
        "GiB total capacity; 3.00 GiB already allocated; 11.00 GiB free; 4.00 GiB allowed; 3.20 "
        "GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting "
        "max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and "
        "PYTORCH_CUDA_ALLOC_CONF",
        "1.10", "2.0", "memory limit"},
       {"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 570.00 MiB. GPU 0 has "
        "a total capacty of 79.25 GiB of which 103.50 MiB is free. Including non-PyTorch memory, "
        "this process has 79.14 GiB memory in use. Of the allocated memory 78.38 GiB is allocated "
        "by PyTorch, and 240.00 MiB is reserved by PyTorch but unallocated. If reserved but "
        "unallocated memory is large try setting max_split_size_mb to avoid fragmentation.  See "
        "documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF",
        "2.1", "2.1", "capacity"},
       {"torch.OutOfMemoryError: HIP out of memory. Tried to allocate 8.00 GiB. GPU 0 has a total "
        "capacity of 63.98 GiB of which 2.00 GiB is free. Of the allocated memory 60.00 GiB is "
        "allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated. If reserved "
        "but unallocated memory is large try setting "
        "PYTORCH_HIP_ALLOC_CONF=expandable_segments:True to avoid fragmentation.",
        "2.2", "", "capacity"},
       {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
        "capacity of 23.52 GiB of which 1.00 GiB is free. Including non-PyTorch memory, this "
        "process has 22.51 GiB memory in use. 10.00 GiB allowed; Of the allocated memory 9.00 GiB "
        "is allocated by PyTorch, with 4.00 GiB allocated in private pools (e.g., CUDA Graphs), "
        "and 12.50 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory "
        "is large try setting PYTORCH_ALLOC_CONF=expandable_segments:True to avoid fragmentation.",
        "2.10", "2.10", "fragmentation"},
       {of_today("2.00 GiB", "1.00 GiB", "", "20.00 GiB", "2.50 GiB"), "2.2", "2.9",
        "fragmentation"},
       {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
        "capacity of 39.39 GiB of which 1.00 GiB is free. Of the allocated memory 20.00 GiB is "
        "allocated by PyTorch, and 2.50 GiB is reserved by PyTorch but unallocated. If reserved "
        "but unallocated memory is large try setting "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See "
        "documentation for Memory Management  (https://docs.pytorch.org/docs/stable/notes/"
        "cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf)",
        "2.11", "", "fragmentation"}}));
  const OomMessage message = message_in(text);
  CHECK(message.releases.since == since);
  CHECK(message.releases.until == until);
  CHECK(cause_in(text) == cause);
}

TEST_CASE("message: 1.3 says what is free in segments, 1.4 what they have in total", "[messages]") {
  const auto of_13 = message_in(
      "CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 8.00 GiB total capacity; 5.00 GiB "
      "already allocated; 0 bytes free; 512.00 MiB cached)");
  CHECK(of_13.figures.reserved_range()->high >= 5 * kGiB + 512 * kMiB);
  CHECK(of_13.figures.free->bytes == 0);
  CHECK(of_13.figures.free->half == 0);
  const auto of_14 = message_in(of_torch_1("1.00 GiB", "5.00 GiB", "0 bytes", "5.50 GiB"));
  CHECK(of_14.figures.reserved_range()->low <= 5 * kGiB + 512 * kMiB);
  CHECK(of_14.figures.reserved_range()->low > 5 * kGiB + 500 * kMiB);
}

TEST_CASE("message: cudaMallocAsync", "[messages]") {
  const auto text = [](const std::string& requested, const std::string& limit) {
    return "torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of "
           "memory)\nCurrently allocated     : 9.43 GiB\nRequested               : " +
           requested +
           "\nDevice limit            : 11.59 GiB\nFree (according to CUDA): 7.12 MiB\nPyTorch "
           "limit "
           "(set by user-supplied memory fraction)\n                        : " +
           limit;
  };
  const std::string none = "17179869184.00 GiB";        // 2^64 - 1: no fraction was set
  CHECK(cause_in(text("640.00 MiB", none)) == "pool");  // 9.43 + 0.63 <= 11.59: whose is the rest?
  CHECK(cause_in(text("3.00 GiB", none)) == "capacity");
  CHECK(cause_in(text("640.00 MiB", "10.00 GiB")) == "memory limit");
  CHECK(message_in(text("640.00 MiB", none)).name == "cudaMallocAsync");
}

TEST_CASE("message: a cause holds for whatever the figures were rounded from", "[messages]") {
  // Requests that take a segment of 20 MiB have 1 to 20 MiB (get_allocation_size).
  CHECK(cause_in(of_torch_1("20.00 MiB", "15.00 GiB", "5.00 MiB", "15.01 GiB")) == "close");
  CHECK(cause_in(of_torch_1("20.00 MiB", "15.00 GiB", "5.00 MiB", "15.20 GiB")) == "fragmentation");
  CHECK(cause_in(of_torch_1("2.00 GiB", "13.00 GiB", "1.00 GiB", "14.00 GiB")) == "close");
  CHECK(cause_in(of_torch_1("2.00 GiB", "13.00 GiB", "1.00 GiB", "13.97 GiB")) == "capacity");
}

TEST_CASE("message: the device had room, or the figures cannot be", "[messages]") {
  CHECK(cause_in(of_torch_1("2.00 GiB", "1.00 GiB", "9.00 GiB", "1.20 GiB")) == "room");
  CHECK(cause_in(of_torch_1("2.00 GiB", "9.00 GiB", "1.00 GiB", "5.00 GiB")) == "disagree");
  CHECK(cause_in(of_torch_1("9.00 GiB", "1.00 GiB", "8.00 GiB", "14.00 GiB")) == "disagree");
  // Windows takes memory of the host where the device has none.
  CHECK(cause_in(of_torch_1("2.00 GiB", "18.00 GiB", "0 bytes", "18.50 GiB")) == "capacity");
}

TEST_CASE("message: free blocks in private pools count as allocated", "[messages]") {
  const std::string text =
      "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 47.53 GiB of "
      "which 896.00 KiB is free. Process 1686436 has 47.51 GiB memory in use. Of the allocated "
      "memory 47.00 GiB is allocated by PyTorch, with 30.22 GiB allocated in private pools (e.g., "
      "CUDA Graphs), and 149.10 MiB is reserved by PyTorch but unallocated.";
  CHECK(cause_in(text) == "private pool");
}

TEST_CASE("message: a listed process that can only be this one", "[messages]") {
  const OomMessage message = message_in(
      "CUDA out of memory. Tried to allocate 3.50 GiB. GPU 0 has a total capacity of 23.64 GiB of "
      "which 1.42 GiB is free. Process 2109 has 0.50 GiB memory in use. Process 2722 has 21.72 GiB "
      "memory in use. Of the allocated memory 20.13 GiB is allocated by PyTorch, and 1.00 GiB is "
      "reserved by PyTorch but unallocated.");
  const auto beside = beside_pytorch(message.figures);
  REQUIRE(beside);
  REQUIRE(beside->itself != nullptr);
  CHECK(beside->itself->number == "2722");
  CHECK(beside->own->low < 604 * kMiB);  // 21.72 - 21.13 GiB
  CHECK(beside->own->high > 604 * kMiB);
  CHECK(beside->others->high > 512 * kMiB);
}

TEST_CASE("message: a driver that reports no use says nothing of others", "[messages]") {
  const OomMessage message = message_in(
      "CUDA out of memory. Tried to allocate 16.13 GiB. GPU 0 has a total capacty of 23.49 GiB of "
      "which 7.47 GiB is free. Including non-PyTorch memory, this process has 0 bytes memory in "
      "use. Of the allocated memory 15.59 GiB is allocated by PyTorch, and 98.64 MiB is reserved "
      "by PyTorch but unallocated.");
  const auto beside = beside_pytorch(message.figures);
  REQUIRE(beside);
  CHECK(!beside->own);
  CHECK(!beside->others);
}

TEST_CASE("message: whatever stands in front of lines and within them", "[messages][log]") {
  const std::string half = kInPieces.substr(0, kInPieces.find(" of which"));
  const std::string rest = kInPieces.substr(half.size() + 1);
  const auto text = GENERATE_COPY(
      as<std::string>{}, "[rank3]: " + half + "\r\n[rank3]: " + rest + "\r\n",
      "2026-11-28 21:04:13,123 ERROR [rank3] " + half + "\n2026-11-28 21:04:13,123 ERROR [rank3] " +
          rest,
      "ERROR 06-02 05:17:18 [core.py:387] [rank3]: " + half +
          "\nERROR 06-02 05:17:18 [core.py:387] [rank3]: " + rest,
      "\x1b[31m[rank3]:\x1b[0m \x1b[1m" + half + "\x1b[0m\n\x1b[31m[rank3]:\x1b[0m " + rest,
      "3: " + half + "\n3: " + rest, "[1,3]<stderr>:" + half + "\n[1,3]<stderr>:" + rest,
      "[default3]:" + half + "\n[default3]:" + rest,
      "worker-5: [rank3]: " + half + "\nworker-5: [rank3]: " + rest,
      "(Worker rank=3 pid=77) " + half + "\n(Worker rank=3 pid=77) " + rest,
      "rank3: \xe2\x94\x82 " + half + " \xe2\x94\x82\nrank3: \xe2\x94\x82 " + rest +
          " \xe2\x94\x82",
      "[rank3]: " + half.substr(0, half.size() - 6) + "\n" + half.substr(half.size() - 6) + "\n> " +
          rest,
      "[rank3]: " + half + "\n[rank1]: step 7\n[rank3]: " + rest,
      "{\"log\":\"[rank3]: " + half + "\\n" + rest + "\"}");
  const OomMessage message = message_in(text);
  CHECK(message.figures.unallocated->text == "7.95 GiB");
  CHECK(message.figures.total->text == "39.39 GiB");
  if (!text.starts_with("{")) {
    CHECK(message.rank == 3);
  }
}

TEST_CASE("message: UTF-16 as PowerShell writes it", "[messages][log]") {
  std::string text = "\xff\xfe";
  for (const char c : kInPieces + "\r\n") {
    text += {c, '\0'};
  }
  CHECK(cause_in(text) == "fragmentation");
}

TEST_CASE("message: several ranks, repetitions, and wrappers that shorten", "[messages][log]") {
  const std::string other = of_today("9.00 GiB", "1.31 GiB", "", "34.40 GiB", "1.95 GiB");
  const auto messages =
      messages_in("step 1\n[rank0]: " + kInPieces + "\n[rank1]: " + other +
                  "\n[rank0]: " + kInPieces + "\nRuntimeError: CUDA out of memory\n");
  REQUIRE(messages.size() == 2);
  CHECK(messages[0].line == 2);
  CHECK(messages[0].rank == 0);
  CHECK(messages[0].times == 2);
  CHECK(messages[1].line == 3);
  CHECK(messages[1].rank == 1);
  CHECK(cause_of(messages[1].figures).cause == OomCause::capacity);
}

TEST_CASE("message: twice on one line, and joined by what was cut off", "[messages]") {
  const auto twice = messages_in(kInPieces + " " + kInPieces);
  REQUIRE(twice.size() == 1);
  CHECK(twice.front().times == 2);
  const std::string cut = kInPieces.substr(0, kInPieces.find("Including"));
  const auto joined = messages_in(cut + kInPieces);
  REQUIRE(joined.size() == 2);
  CHECK(!joined[0].figures.allocated);
  CHECK(cause_of(joined[1].figures).cause == OomCause::fragmentation);
}

TEST_CASE("message: one that is cut short borrows nothing from the next", "[messages]") {
  const std::string cut = kInPieces.substr(0, kInPieces.find("of which") - 1);
  const std::string tail =
      "of which 9.99 GiB is free. Of the allocated memory 1.00 GiB is "
      "allocated by PyTorch, and 2.00 GiB is reserved";
  const OomMessage message = message_in(cut + "\nFile \"train.py\", line 3\n" + tail);
  CHECK(message.figures.asked->text == "2.10 GiB");
  CHECK(!message.figures.total);  // the text that says what it is of is missing
  CHECK(!message.figures.free);
  CHECK(!message.figures.allocated);
  CHECK(cause_in(cut) == "missing");
}

TEST_CASE("message: cut anywhere it has the figures that are whole, and never another cause",
          "[messages]") {
  for (std::size_t length = 0; length < kInPieces.size(); ++length) {
    for (const OomMessage& message : messages_in(kInPieces.substr(0, length))) {
      const auto cause = cause_of(message.figures).cause;
      CHECK((!cause || *cause == OomCause::fragmentation));
      CHECK((!message.figures.free || message.figures.free->text == "1.31 GiB"));
      CHECK((!message.figures.allocated || message.figures.allocated->text == "29.40 GiB"));
    }
  }
}

TEST_CASE("message: words in any order are no other message", "[messages]") {
  std::mt19937 random(7);
  std::vector<std::string> words;
  std::istringstream stream(kInPieces);
  for (std::string word; stream >> word;) {
    words.push_back(word);
  }
  for (int round = 0; round < 300; ++round) {
    std::shuffle(words.begin() + 6, words.end(), random);
    std::string text;
    for (const std::string& word : words) {
      text += word + " ";
    }
    for (const OomMessage& message : messages_in(text)) {
      CHECK(!cause_of(message.figures).cause);
    }
  }
}

TEST_CASE("message: those without figures say what can be said", "[messages]") {
  const auto [text, name, memory] = GENERATE(table<std::string, std::string, std::string>(
      {{"RuntimeError: CUDA error: out of memory\nCUDA kernel errors might be asynchronously "
        "reported",
        "CUDA error", "GPU"},
       {"torch.AcceleratorError: CUDA error: out of memory", "CUDA error", "GPU"},
       {"RuntimeError: cuda runtime error (2) : out of memory at /pytorch/aten/src/THC/x.cu:58",
        "CUDA error", "GPU"},
       {"RuntimeError: HIP error: out of memory", "HIP error", "GPU"},
       {"RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "cuBLAS", "GPU"},
       {"RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED", "cuDNN", "GPU"},
       {"node1:77:123 [0] include/alloc.h:185 NCCL WARN Cuda failure 2 'out of memory'", "NCCL",
        "GPU"},
       {"node1:77:123 [0] init.cc:185 NCCL WARN Cuda failure 'out of memory'", "NCCL", "GPU"},
       {"ValueError: No available memory for the cache blocks. Try increasing "
        "`gpu_memory_utilization` when initializing the engine.",
        "vLLM", "GPU"},
       {"[ExpandableSegmentVA] Failed to reserve 90194313216 bytes (84 GiB) of virtual address "
        "space "
        "for an expandable CUDA segment on device 0 (out of memory). This process already holds "
        "1500 live expandable segment(s) reserving 135291469824000 bytes of virtual address space. "
        "This is virtual-address-space (VSZ) exhaustion from expandable segments, not physical GPU "
        "OOM. Reduce it via PYTORCH_CUDA_ALLOC_CONF expandable_segments_reserve",
        "virtual addresses", "GPU"},
       {"RuntimeError: MPS backend out of memory (MPS allocated: 17.36 GB, other allocations: "
        "613.56 "
        "MB, max allowed: 18.13 GB). Tried to allocate 192.00 MB on private pool.",
        "MPS allocator", "GPU"},
       {"RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't "
        "allocate memory: you tried to allocate 1073741824 bytes. Error code 12",
        "host memory", "host"},
       {"slurmstepd: error: Detected 1 oom-kill event(s) in StepId=1.0.", "host memory", "host"},
       {"RuntimeError: No executable batch size found, reached zero.", "accelerate", "GPU"},
       {"RuntimeError: CUDA out of memory. Tried to allocate more than 1EB memory.",
        "more than an exabyte", "GPU"},
       {"torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of "
        "memory)",
        "message cut short", "GPU"},
       {"torch.cuda.OutOfMemoryError: CUDA out of memory.", "out of memory", "GPU"}}));
  const OomMessage message = message_in(text);
  REQUIRE(message.other != nullptr);
  CHECK(message.name == name);
  CHECK(message.other->memory == memory);
  CHECK(!cause_of(message.figures).cause);
  CHECK(message.other_verdict.find('{') == std::string::npos);
  CHECK(!message.other->helps.empty());
}

TEST_CASE("message: sizes in others' sentences are those of the text", "[messages]") {
  CHECK(message_in("ValueError: Free memory on device cuda:0 (3.25/23.43 GiB) on startup is less "
                   "than desired GPU memory utilization (0.96, 22.49 GiB). Decrease GPU memory")
            .other_verdict.find("3.25 of 23.43 GiB are free before anything is loaded, less than "
                                "the 22.49 GiB (0.96 of the device)") != std::string::npos);
  CHECK(message_in("ValueError: To serve at least one request with the models's max seq len "
                   "(40960), (10.00 GiB KV cache is needed, which is larger than the available KV "
                   "cache memory (1.25 GiB). Based on the available memory,")
            .other_verdict.find("40960 tokens needs 10.00 GiB") != std::string::npos);
}

TEST_CASE("message: prose about memory is not mistaken for an error", "[messages]") {
  CHECK(messages_in("If you run out of memory, try a smaller batch.").empty());
  CHECK(messages_in("CUDA out of memory. Tried to allocate").empty());
  CHECK(messages_in("").empty());
  CHECK(messages_in("\n\n[rank0]:\n").empty());
}
