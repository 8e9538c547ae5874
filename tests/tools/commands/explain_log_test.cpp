// Command line: `explain` of a log: what is taken for one, and what is refused.
#include <chrono>
#include <fstream>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"
#include "tests/support/temp_dir.hpp"

using namespace highwater;
using Catch::Contains;

namespace explain_log_test {

namespace {

const std::string kLogs = HIGHWATER_SOURCE "/tests/data/messages/";

const std::string kMessage =
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.10 GiB. GPU 0 has a total "
    "capacity of 39.39 GiB of which 1.31 GiB is free. Including non-PyTorch memory, this process "
    "has 38.07 GiB memory in use. Of the allocated memory 29.40 GiB is allocated by PyTorch, and "
    "7.95 GiB is reserved by PyTorch but unallocated.";

class LogOnDisk {
 public:
  explicit LogOnDisk(const std::string& text) : path_((folder_ / "train.log").string()) {
    std::ofstream(path_, std::ios::binary) << text;
  }

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  test::TempDir folder_;
  std::string path_;
};

std::string cause_in_log(const std::string& text) {
  const LogOnDisk log(text);
  const boost::json::object answer = json_of("explain " + log.path());
  CHECK(answer.at("devices").as_array().empty());
  REQUIRE(answer.at("messages").as_array().size() == 1);
  const boost::json::value& cause = answer.at("messages").at(0).at("cause");
  return cause.is_null() ? "null" : std::string(cause.as_string());
}

}  // namespace

TEST_CASE("explain: a log is recognised by what it holds", "[cli][explain][messages]") {
  CHECK(cause_in_log(kMessage) == "fragmentation");
  CHECK(cause_in_log("[rank0]: " + kMessage + "\n") == "fragmentation");
  CHECK(cause_in_log("[2026-11-28 21:04:13,123] ERROR " + kMessage + "\n") == "fragmentation");
  CHECK(cause_in_log("{\"log\": \"" + kMessage +
                     "\\n\", \"stream\": \"stderr\"}\n{\"log\": \"\"}\n") == "fragmentation");
  CHECK(cause_in_log("{\"message\": {\"message\": \"" + kMessage + "\"}}") == "fragmentation");
  CHECK(cause_in_log("# " + kMessage) == "fragmentation");
  CHECK(cause_in_log("step 1 loss 2.3\n" + kMessage) == "fragmentation");  // no trace's "step 1"
  CHECK(cause_in_log(std::string(100'000, '.') + "\n" + kMessage) == "fragmentation");
}

TEST_CASE("explain: a snapshot has no messages, a log no devices", "[cli][explain][messages]") {
  const boost::json::object recording = json_of(
      "explain " HIGHWATER_SOURCE "/traces/recorded/fake/gpt2-fp32-varlen-capacity2700.hwt.xz");
  CHECK(recording.at("messages").as_array().empty());
  CHECK(recording.at("devices").as_array().size() == 1);
  const boost::json::object log = json_of("explain " + kLogs + "ranks.log");
  CHECK(log.at("messages").as_array().size() == 3);
}

TEST_CASE("explain: a text without an out-of-memory message is refused",
          "[cli][explain][messages][errors]") {
  const LogOnDisk log("epoch 1 loss 2.3\nepoch 2 loss 2.2\n");
  const CommandRun result = run({"explain", log.path()});
  CHECK(result.code == ExitCode::bad_input);
  CHECK_THAT(result.err, Contains("train.log: is a text without any message about memory that "
                                  "Highwater knows; give a log with the line"));
}

TEST_CASE("explain: a damaged trace is refused as a trace, not read as a log",
          "[cli][explain][messages][errors]") {
  const LogOnDisk trace("step one\na x 512 0\n");
  const CommandRun result = run({"explain", trace.path()});
  CHECK(result.code == ExitCode::bad_input);
  CHECK_THAT(result.err, Contains("line 1, column"));
}

TEST_CASE("explain: limits are of recordings", "[cli][explain][messages][errors]") {
  const CommandRun result = run({"explain", kLogs + "ranks.log", "--capacity", "40GiB"});
  CHECK(result.code == ExitCode::usage);
  CHECK_THAT(result.err, Contains("is a log: limits, --device and --edit are for recordings"));
}

TEST_CASE("explain: a log of 10 MB, and hostile ones, take a second", "[cli][explain][messages]") {
  const auto repeated = [](const std::string& text) {
    std::string all;
    while (all.size() < 10'000'000) {
      all += text;
    }
    return all;
  };
  const auto text = GENERATE_COPY(
      as<std::string>{}, repeated("[rank1]: step 1 loss 2.3 tokens/s 12345\n") + kMessage,
      repeated("CUDA out of memory. Tried to allocate ") + kMessage,
      kMessage.substr(0, kMessage.find("Including")) +
          repeated("Process 7 has 1.00 GiB memory in use. "),
      repeated("[rank1]: ") + "\n" + kMessage, repeated("1-1 ") + "\n" + kMessage);
  const LogOnDisk log(text);
  const auto begin = std::chrono::steady_clock::now();
  const boost::json::object answer = json_of("explain " + log.path());
  const auto taken = std::chrono::steady_clock::now() - begin;
  CHECK(answer.at("messages").as_array().size() == 1);
  CHECK(taken <
        std::chrono::seconds(20));  // a second; much more under sanitizers on a busy machine
}

}  // namespace explain_log_test
