// Rules: links are followed, descriptors are recognised wherever a path leads to them.
#include "traces/formats/bytes/output_target.hpp"

#include <filesystem>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/support/temp_dir.hpp"
#include "traces/error.hpp"

using namespace highwater;
using namespace highwater::test;

namespace {

namespace fs = std::filesystem;

using Kind = OutputTarget::Kind;

}  // namespace

TEST_CASE("output_target: a plain name is itself, in its real folder", "[traces][formats]") {
  const TempDir dir;
  fs::create_directory(dir / "real");
  fs::create_directory_symlink("real", dir / "folder");
  const OutputTarget target = output_target(dir / "folder/out");
  CHECK(target.kind == Kind::file);
  CHECK(target.path == fs::canonical(dir.path()) / "real/out");
}

TEST_CASE("output_target: links lead to a file, whether it exists or not", "[traces][formats]") {
  const TempDir dir;
  fs::create_symlink("second", dir / "first");
  fs::create_symlink(dir / "end", dir / "second");
  CHECK(output_target(dir / "first").path == fs::canonical(dir.path()) / "end");
  write_file(dir / "end", "there");
  CHECK(output_target(dir / "first").path == fs::canonical(dir.path()) / "end");
}

TEST_CASE("output_target: a circle of links and a missing folder are usage errors",
          "[traces][formats]") {
  const TempDir dir;
  fs::create_symlink("b", dir / "a");
  fs::create_symlink("a", dir / "b");
  CHECK_THROWS_AS(output_target(dir / "a"), UsageError);
  CHECK_THROWS_WITH(output_target(dir / "no/out"), Catch::Contains("cannot be created: No such"));
}

TEST_CASE("output_target: the descriptors of this process", "[traces][formats]") {
  const TempDir dir;
  fs::create_symlink("/proc/self/fd/1", dir / "link");
  for (const fs::path& name : {fs::path("/dev/stdout"), fs::path("/dev/fd/1"),
                               fs::path("/proc/self/fd/1"), dir / "link"}) {
    CAPTURE(name);
    const OutputTarget target = output_target(name);
    CHECK(target.kind == Kind::descriptor);
    CHECK(target.descriptor == STDOUT_FILENO);
    CHECK(is_standard_output(name));
  }
  CHECK(output_target("/dev/stderr").descriptor == STDERR_FILENO);
  CHECK(output_target("/dev/fd/77").descriptor == 77);
}

TEST_CASE("output_target: devices and pipes are special, other names are not standard output",
          "[traces][formats]") {
  CHECK(output_target("/dev/null").kind == Kind::special);
  CHECK(is_standard_output("-"));
  CHECK_FALSE(is_standard_output("/dev/null"));
  CHECK_FALSE(is_standard_output("no/such/folder/1"));
}
