// Rules: temporary files have random names of one length and do not outlive what made them.
#include "traces/formats/bytes/temporary_file.hpp"

#include <filesystem>
#include <system_error>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/support/temp_dir.hpp"

using namespace highwater;
using namespace highwater::test;

namespace {

std::string only_name_in(const TempDir& dir) {
  return std::filesystem::directory_iterator(dir.path())->path().filename().string();
}

}  // namespace

TEST_CASE("temporary_file: two in one folder never share a name", "[traces][formats]") {
  const TempDir dir;
  std::string first_name;
  {
    const TemporaryFile first(dir.path());
    ::close(first.descriptor());
    first_name = only_name_in(dir);
    const TemporaryFile second(dir.path());
    ::close(second.descriptor());
    CHECK(dir.file_count() == 2);
  }
  CHECK(dir.file_count() == 0);
  const TemporaryFile third(dir.path());
  ::close(third.descriptor());
  CHECK(only_name_in(dir) != first_name);
  CHECK(only_name_in(dir).size() == first_name.size());
}

TEST_CASE("temporary_file: renamed, it stays; a failed rename leaves nothing",
          "[traces][formats]") {
  const TempDir dir;
  {
    TemporaryFile file(dir.path());
    ::close(file.descriptor());
    file.rename_to(dir / "out");
  }
  CHECK(only_name_in(dir) == "out");
  {
    TemporaryFile file(dir.path());
    ::close(file.descriptor());
    CHECK_THROWS_AS(file.rename_to(dir / "no/folder"), std::system_error);
  }
  CHECK(dir.file_count() == 1);
}

TEST_CASE("temporary_file: more than signals are told about work, too", "[traces][formats]") {
  const TempDir dir;
  std::vector<std::unique_ptr<TemporaryFile>> files;
  for (int i = 0; i < 100; ++i) {
    files.push_back(std::make_unique<TemporaryFile>(dir.path()));
    ::close(files.back()->descriptor());
  }
  CHECK(dir.file_count() == 100);
  files.clear();
  CHECK(dir.file_count() == 0);
}
