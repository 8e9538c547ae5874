// --torch auto: what the python3 on the PATH says is installed; it speaks on its standard input, a
// socket, and what it prints does not count.
#include "tools/options/installed_release.hpp"

#include <cstdlib>
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"
#include "tests/support/temp_dir.hpp"
#include "traces/error.hpp"

using namespace highwater;
using Catch::Contains;

namespace {

std::string path_now() {
  const char* const path = std::getenv("PATH");
  return path == nullptr ? "" : path;
}

/// A PATH whose python3 is a script.
class FakePython {
 public:
  explicit FakePython(const std::string& script) : path_(path_now()) {
    const std::filesystem::path python = folder_ / "python3";
    test::write_file(python.string(), "#!/bin/sh\n" + script);
    std::filesystem::permissions(python, std::filesystem::perms::owner_all);
    ::setenv("PATH", (folder_.path().string() + ":" + path_).c_str(), 1);
  }

  FakePython(const FakePython&) = delete;
  FakePython& operator=(const FakePython&) = delete;

  ~FakePython() { ::setenv("PATH", path_.c_str(), 1); }

 private:
  test::TempDir folder_;
  std::string path_;
};

}  // namespace

TEST_CASE("installed release: the first two numbers of what Python says", "[cli][release]") {
  const FakePython python("echo 1.0; echo 2.9.1+cu126 >&0; echo 3.0");
  CHECK(installed_release("torch", "torch") == "2.9");
}

TEST_CASE("installed release: each package is asked for", "[cli][release]") {
  const FakePython python("case \"$3\" in deepspeed) echo 0.16.4 >&0;; *) exit 1;; esac");
  CHECK(installed_release("deepspeed", "deepspeed") == "0.16");
  CHECK_THROWS_WITH(installed_release("torch", "torch-b"),
                    Contains("--torch-b auto: the python3 on the PATH has no torch"));
}

TEST_CASE("installed release: auto stands for it on the command line", "[cli][release]") {
  const FakePython python("case \"$3\" in torchtitan) echo 0.3.0 >&0;; *) echo 2.9.1 >&0;; esac");
  CHECK_THAT(run_line("simulate --model gpt2 --seq 16 --steps 1 --torch auto").out,
             Contains("torch 2.9, "));
  const CommandRun titan = run_line(
      "simulate --model llama-160m --seq 64 --steps 1 --framework torchtitan --torchtitan auto");
  CHECK(titan.code == ExitCode::ok);
}
