// Rules: temporary files and folders have random names of one length and do not outlive what made
// them.
#include "traces/formats/bytes/temporary_file.hpp"

#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/support/temp_dir.hpp"

using namespace highwater;
using namespace highwater::test;

namespace {

std::atomic<bool> g_disk_is_slow = false;

}  // namespace

/// In place of the C library's, so that a signal may come while files are removed.
extern "C" int unlink(const char* path) noexcept {
  if (g_disk_is_slow) {
    ::usleep(300);
  }
  return static_cast<int>(::syscall(SYS_unlink, path));
}

namespace {

std::string first_name_in(const TempDir& dir) {
  return std::filesystem::directory_iterator(dir.path())->path().filename().string();
}

/// Ends by a signal, while a second thread could take another one.
[[noreturn]] void hold_files(const TempDir& dir, int ready) {
  g_disk_is_slow = true;
  clean_up_on_signals();
  std::vector<std::unique_ptr<TemporaryFile>> files;
  for (int i = 0; i < 60; ++i) {
    files.push_back(std::make_unique<TemporaryFile>(dir.path()));
  }
  std::thread([] { ::pause(); }).detach();
  const char byte = 0;
  [[maybe_unused]] const auto written = ::write(ready, &byte, 1);
  while (true) {
    ::pause();
  }
}

}  // namespace

TEST_CASE("temporary_file: two in one folder never share a name", "[traces][formats]") {
  const TempDir dir;
  std::string first_name;
  {
    const TemporaryFile first(dir.path());
    ::close(first.descriptor());
    first_name = first_name_in(dir);
    const TemporaryFile second(dir.path());
    ::close(second.descriptor());
    CHECK(dir.file_count() == 2);
  }
  CHECK(dir.file_count() == 0);
  const TemporaryFile third(dir.path());
  ::close(third.descriptor());
  CHECK(first_name_in(dir) != first_name);
  CHECK(first_name_in(dir).size() == first_name.size());
}

TEST_CASE("temporary_file: renamed, it stays; a failed rename leaves nothing",
          "[traces][formats]") {
  const TempDir dir;
  {
    TemporaryFile file(dir.path());
    ::close(file.descriptor());
    file.rename_to(dir / "out");
  }
  CHECK(first_name_in(dir) == "out");
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

TEST_CASE("temporary_file: a second signal does not stop the removal", "[traces][formats]") {
  const TempDir dir;
  for (int repetition = 0; repetition < 3; ++repetition) {
    std::array<int, 2> ready{};
    REQUIRE(::pipe(ready.data()) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
      hold_files(dir, ready[1]);
    }
    char byte = 0;
    REQUIRE(::read(ready[0], &byte, 1) == 1);
    const std::filesystem::path one = dir / first_name_in(dir);
    ::kill(child, SIGINT);
    while (::access(one.c_str(), F_OK) == 0) {
    }
    ::kill(child, SIGINT);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
    CHECK(dir.file_count() == 0);
    ::close(ready[0]);
    ::close(ready[1]);
  }
}

TEST_CASE("temporary_folder: only its owner can open it, and it goes with all that is in it",
          "[traces][formats]") {
  const TempDir dir;
  const TempDir elsewhere;
  write_file(elsewhere / "kept", "mine");
  {
    const TemporaryFolder folder(dir / "of-a-test-");
    CHECK(folder.path().filename().string().starts_with("of-a-test-"));
    CHECK(std::filesystem::status(folder.path()).permissions() ==
          std::filesystem::perms::owner_all);
    std::filesystem::create_directories(folder.path() / "a" / "b" / "c");
    for (int i = 0; i < 300; ++i) {  // more than one call of the system names
      write_file(folder.path() / "a" / (std::to_string(i) + std::string(100, 'x')), "");
    }
    std::filesystem::create_directory_symlink(elsewhere.path(), folder.path() / "a" / "link");
    CHECK(dir.file_count() == 1);
  }
  CHECK(dir.file_count() == 0);
  CHECK(read_file(elsewhere / "kept") == "mine");
}

TEST_CASE("temporary_folder: renamed, it stays, and never replaces what is there",
          "[traces][formats]") {
  const TempDir dir;
  for (int i = 0; i < 2; ++i) {
    TemporaryFolder folder(dir / "new");
    write_file(folder.path() / "content", std::to_string(i));
    if (i == 0) {
      folder.rename_to(dir / "out");
    } else {
      CHECK_THROWS_AS(folder.rename_to(dir / "out"), std::system_error);
    }
  }
  CHECK(dir.file_count() == 1);
  CHECK(read_file(dir / "out" / "content") == "0");
}

namespace {

/// Ends by a signal, while a child of it writes to its folder.
[[noreturn]] void hold_folder(const TempDir& dir, int ready) {
  clean_up_on_signals();
  const TemporaryFolder folder(dir / "held-");
  const pid_t writer = ::fork();
  if (writer == 0) {
    ::signal(SIGTERM, SIG_IGN);
    for (int i = 0;; ++i) {
      write_file(folder.path() / std::to_string(i % 100), "");
    }
  }
  const KilledOnSignal killed(writer);
  const char byte = 0;
  [[maybe_unused]] const auto written = ::write(ready, &byte, 1);
  while (true) {
    ::pause();
  }
}

}  // namespace

TEST_CASE("temporary_folder: a signal kills who writes to it, then removes it",
          "[traces][formats]") {
  const TempDir dir;
  std::array<int, 2> ready{};
  REQUIRE(::pipe(ready.data()) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    hold_folder(dir, ready[1]);
  }
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  ::kill(child, SIGTERM);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM));
  CHECK(dir.file_count() == 0);
  ::close(ready[0]);
  ::close(ready[1]);
}
