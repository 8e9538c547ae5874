// Rules: what the cache of runs finds again, and what goes when it is full.
#include "tools/engine/run_cache.hpp"

#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "tests/support/temp_dir.hpp"

using namespace highwater;
namespace fs = std::filesystem;

namespace {

constexpr Bytes kMuch{1 << 20};

void keep_run(const RunCache& cache, const test::TempDir& folder, const std::string& key,
              const std::string& content) {
  const fs::path run = folder / ("run-" + key);
  fs::create_directory(run);
  test::write_file(run / "record.pickle", content);
  cache.keep(key, run);
}

}  // namespace

TEST_CASE("run cache: what was kept is found, by whoever asks next", "[engine]") {
  const test::TempDir folder;
  keep_run(RunCache(folder / "cache", kMuch), folder, "a", "content");
  const RunCache next(folder / "cache", kMuch);
  const auto found = next.find("a");
  REQUIRE(found);
  CHECK(test::read_file(*found / "record.pickle") == "content");
  CHECK_FALSE(next.find("b"));
  next.forget("a");
  CHECK_FALSE(next.find("a"));
}

TEST_CASE("run cache: what is kept twice stays whole", "[engine]") {
  const test::TempDir folder;
  const RunCache cache(folder / "cache", kMuch);
  keep_run(cache, folder, "a", "first");
  test::write_file(folder / "run-a" / "record.pickle", "second");
  cache.keep("a", folder / "run-a");
  CHECK(test::read_file(*cache.find("a") / "record.pickle") == "first");
  CHECK(std::distance(fs::directory_iterator(folder / "cache"), {}) == 1);
}

TEST_CASE("run cache: runs unused for longest make room", "[engine]") {
  const test::TempDir folder;
  const RunCache cache(folder / "cache", Bytes{2500});
  const std::string content(1000, 'x');
  keep_run(cache, folder, "a", content);
  keep_run(cache, folder, "b", content);
  const auto hour = std::chrono::hours(1);
  fs::last_write_time(folder / "cache" / "b", fs::file_time_type::clock::now() - hour);
  CHECK(cache.find("a"));
  keep_run(cache, folder, "c", content);
  CHECK(cache.find("a"));
  CHECK_FALSE(cache.find("b"));
  CHECK(cache.find("c"));
}

TEST_CASE("run cache: without a folder, or one that can be written, nothing is kept", "[engine]") {
  const test::TempDir folder;
  const RunCache none({}, kMuch);
  keep_run(none, folder, "a", "content");
  CHECK_FALSE(none.find("a"));
  test::write_file(folder / "file", "");
  const RunCache blocked(folder / "file", kMuch);
  keep_run(blocked, folder, "b", "content");
  CHECK_FALSE(blocked.find("b"));
}

TEST_CASE("run cache: a key follows from the content", "[engine]") {
  CHECK(run_key("a") == run_key("a"));
  CHECK(run_key("a") != run_key("b"));
  CHECK(run_key("").size() == 36);
}
