// Rules: an output file appears complete or not at all.
#include "traces/formats/bytes/byte_sink.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/support/format_io.hpp"
#include "tests/support/temp_dir.hpp"
#include "traces/formats/bytes/byte_source.hpp"
#include "traces/formats/bytes/opened_inputs.hpp"

using namespace highwater;
using namespace highwater::test;

TEST_CASE("byte_sink: a file appears only with commit", "[traces][formats]") {
  const TempDir dir;
  const auto sink = open_sink(dir / "out");
  sink->write(to_bytes("content"));
  CHECK_FALSE(std::filesystem::exists(dir / "out"));
  sink->commit();
  CHECK(read_file(dir / "out") == "content");
  CHECK(dir.file_count() == 1);
}

TEST_CASE("byte_sink: without commit nothing remains and the old file stays", "[traces][formats]") {
  const auto name = GENERATE(as<std::string>{}, "out", "out.gz", "out.xz", "out.zst");
  const TempDir dir;
  write_file(dir / name, "old");
  {
    const auto sink = open_sink(dir / name);
    sink->write(to_bytes(std::string(200000, 'x')));
  }
  CHECK(read_file(dir / name) == "old");
  CHECK(dir.file_count() == 1);
}

TEST_CASE("byte_sink: commit replaces an older file", "[traces][formats]") {
  const TempDir dir;
  write_file(dir / "out", "a longer old content");
  const auto sink = open_sink(dir / "out");
  sink->write(to_bytes("new"));
  sink->commit();
  CHECK(read_file(dir / "out") == "new");
}

TEST_CASE("byte_sink: a write-protected file is not replaced", "[traces][formats]") {
  const TempDir dir;
  write_file(dir / "out", "precious");
  ::chmod((dir / "out").c_str(), 0444);
  CHECK_THROWS_WITH(open_sink(dir / "out"), Catch::Contains("is write-protected; choose another"));
  CHECK(read_file(dir / "out") == "precious");
}

TEST_CASE("byte_sink: the ending of the name chooses the compression", "[traces][formats]") {
  const auto [name, magic] =
      GENERATE(table<std::string, std::string>({{"a.gz", "\x1f\x8b"},
                                                {"a.xz",
                                                 "\xfd"
                                                 "7zXZ"},
                                                {"a.zst", "\x28\xb5\x2f\xfd"},
                                                {"a.t", "x"}}));
  const TempDir dir;
  const auto sink = open_sink(dir / name);
  sink->write(to_bytes("x"));
  sink->commit();
  CHECK(read_file(dir / name).substr(0, magic.size()) == magic);
}

TEST_CASE("byte_sink: devices are written, not replaced", "[traces][formats]") {
  const auto sink = open_sink("/dev/null");
  sink->write(to_bytes("x"));
  sink->commit();
  CHECK(std::filesystem::is_character_file("/dev/null"));
  CHECK_THROWS_WITH(open_sink("/dev/full")->write(to_bytes("x")),
                    Catch::Contains("/dev/full: cannot be written: "));
}

TEST_CASE("byte_sink: a target where no file can be is a usage error", "[traces][formats]") {
  const TempDir dir;
  CHECK_THROWS_AS(open_sink(dir / "no/such/folder/out"), UsageError);
  CHECK_THROWS_WITH(open_sink("/tmp"), "/tmp: is a directory; name a file inside it");
  CHECK_THROWS_WITH(open_sink(""), Catch::Contains("path of the output is empty"));
}

TEST_CASE("byte_sink: a file that was read is not replaced, by whatever name",
          "[traces][formats]") {
  const TempDir dir;
  write_file(dir / "in", "precious");
  std::filesystem::create_hard_link(dir / "in", dir / "hard");
  std::filesystem::create_symlink("in", dir / "soft");
  const InputsOfRun run;
  open_source(dir / "in");
  CHECK_THROWS_WITH(open_sink(dir / "in"), Catch::Contains("is the input itself; choose another"));
  for (const std::string name : {"hard", "soft"}) {
    CHECK_THROWS_WITH(open_sink(dir / name),
                      Catch::Contains(name + ": is the same file as the input"));
  }
  CHECK(read_file(dir / "in") == "precious");
  CHECK(dir.file_count() == 3);
}

TEST_CASE("byte_sink: an input may be brought up to date on request, or in the next run",
          "[traces][formats]") {
  const TempDir dir;
  write_file(dir / "in", "old");
  open_source(dir / "in");
  open_sink(dir / "in", Overwrite::inputs_too)->commit();
  CHECK(read_file(dir / "in").empty());
  {
    const InputsOfRun run;
    open_source(dir / "in");
  }
  CHECK_NOTHROW(open_sink(dir / "in"));
}

TEST_CASE("byte_sink: a file that is to be replaced is no input any more", "[traces][formats]") {
  const TempDir dir;
  write_file(dir / "in", "precious");
  std::filesystem::create_hard_link(dir / "in", dir / "hard");
  const InputsOfRun run;
  const auto sink = open_sink(dir / "in");
  sink->write(to_bytes("new"));
  CHECK_THROWS_WITH(open_source(dir / "hard"),
                    Catch::Contains("in: is the same file as the input") &&
                        Catch::Contains("hard; choose another name for the output"));
  CHECK_THROWS_AS(sink->commit(), UsageError);  // though somebody made light of that
  CHECK(read_file(dir / "in") == "precious");
}

TEST_CASE("byte_sink: what a descriptor leads to stays as it is until something is written",
          "[traces][formats]") {
  const TempDir dir;
  write_file(dir / "in", "precious");
  const int descriptor = ::open((dir / "in").c_str(), O_RDWR | O_APPEND);
  const InputsOfRun run;
  const auto sink = open_sink("/proc/self/fd/" + std::to_string(descriptor));
  CHECK_THROWS_AS(open_source(dir / "in"), UsageError);
  CHECK_THROWS_AS(sink->write(to_bytes("new")), UsageError);
  CHECK(read_file(dir / "in") == "precious");
  ::close(descriptor);
}

TEST_CASE("byte_sink: a file may be read once its output has been given up", "[traces][formats]") {
  const TempDir dir;
  write_file(dir / "in", "precious");
  const InputsOfRun run;
  open_sink(dir / "in");
  CHECK_NOTHROW(open_source(dir / "in"));
}
