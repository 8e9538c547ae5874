// Rules: what the cache of runs finds again and believes, and what goes when it is full.
#include "tools/engine/run_cache.hpp"

#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "tests/support/temp_dir.hpp"
#include "tools/engine/cached_run.hpp"

using namespace highwater;
namespace fs = std::filesystem;

namespace {

constexpr Bytes kMuch{1 << 20};
const std::string kA = run_key("a");
const std::string kB = run_key("b");
const std::string kC = run_key("c");

fs::path write_run(const test::TempDir& folder, const std::string& key,
                   const std::string& content) {
  const fs::path run = folder / ("run-" + key);
  fs::create_directory(run);
  test::write_file(run / "record.pickle", content);
  test::write_file(run / "trainable", "12");
  test::write_file(run / "note", "");
  test::write_file(run / "assumed", "");
  return run;
}

void keep_run(const RunCache& cache, const test::TempDir& folder, const std::string& key,
              const std::string& content) {
  cache.keep(key, write_run(folder, key, content));
}

/// As if it had been used last an hour ago.
void age(const fs::path& entry) {
  fs::last_write_time(entry, fs::file_time_type::clock::now() - std::chrono::hours(1));
}

}  // namespace

TEST_CASE("run cache: what was kept is found, by whoever asks next", "[engine]") {
  const test::TempDir folder;
  keep_run(RunCache(folder / "cache", kMuch), folder, kA, "content");
  const RunCache next(folder / "cache", kMuch);
  const auto found = next.find(kA);
  REQUIRE(found);
  CHECK(test::read_file(*found / "record.pickle") == "content");
  CHECK_FALSE(next.find(kB));
  next.forget(kA);
  CHECK_FALSE(next.find(kA));
  CHECK(fs::is_empty(folder / "cache"));
}

TEST_CASE("run cache: what is kept twice stays whole", "[engine]") {
  const test::TempDir folder;
  const RunCache cache(folder / "cache", kMuch);
  keep_run(cache, folder, kA, "first");
  keep_run(cache, folder, kA, "second");
  CHECK(test::read_file(*cache.find(kA) / "record.pickle") == "first");
  CHECK(std::distance(fs::directory_iterator(folder / "cache"), {}) == 1);
}

TEST_CASE("run cache: runs unused for longest make room", "[engine]") {
  const test::TempDir folder;
  const RunCache cache(folder / "cache", Bytes{2500});
  const std::string content(1000, 'x');
  keep_run(cache, folder, kA, content);
  keep_run(cache, folder, kB, content);
  age(folder / "cache" / kB);
  CHECK(cache.find(kA));
  keep_run(cache, folder, kC, content);
  CHECK(cache.find(kA));
  CHECK_FALSE(cache.find(kB));
  CHECK(cache.find(kC));
}

TEST_CASE("run cache: of entries only their own files go", "[engine]") {
  const test::TempDir folder;
  const RunCache cache(folder / "cache", Bytes{1500});
  keep_run(cache, folder, kA, std::string(1000, 'x'));
  test::write_file(folder / "cache" / kA / "thesis.tex", "mine");
  age(folder / "cache" / kA);
  keep_run(cache, folder, kB, std::string(1000, 'x'));
  CHECK(cache.find(kB));
  CHECK_FALSE(cache.find(kA));
  CHECK(test::read_file(folder / "cache" / kA / "thesis.tex") == "mine");
}

TEST_CASE("run cache: what a process that was killed has left goes with the others", "[engine]") {
  const test::TempDir folder;
  const RunCache cache(folder / "cache", Bytes{1500});
  keep_run(cache, folder, kA, std::string(1000, 'x'));
  const fs::path unfinished = folder / "cache" / (kA + ".0123");
  fs::rename(folder / "cache" / kA, unfinished);
  CHECK_FALSE(cache.find(kA));
  age(unfinished);
  keep_run(cache, folder, kB, std::string(1000, 'x'));
  CHECK_FALSE(fs::exists(unfinished));
  CHECK(cache.find(kB));
}

TEST_CASE("run cache: an entry is believed while its sum holds", "[engine]") {
  const test::TempDir folder;
  const RunCache cache(folder / "cache", kMuch);
  const auto [file, content] = GENERATE(table<std::string, std::string>(
      {{"record.pickle", "contend"}, {"record.pickle", ""}, {"trainable", "13"}, {"note", "x"}}));
  CAPTURE(file, content);
  keep_run(cache, folder, kA, "content");
  REQUIRE(cache.find(kA));
  test::write_file(folder / "cache" / kA / file, content);
  CHECK_FALSE(cache.find(kA));
  CHECK_FALSE(fs::exists(folder / "cache" / kA));
  keep_run(cache, folder, kA, "content");
  CHECK(cache.find(kA));
}

TEST_CASE("run cache: an entry answers its own question only", "[engine]") {
  const test::TempDir folder;
  const RunCache cache(folder / "cache", kMuch);
  keep_run(cache, folder, kA, "content");
  fs::rename(folder / "cache" / kA, folder / "cache" / kB);
  CHECK_FALSE(cache.find(kB));
}

TEST_CASE("run cache: without a folder, or one that can be written, nothing is kept", "[engine]") {
  const test::TempDir folder;
  const RunCache none({}, kMuch);
  keep_run(none, folder, kA, "content");
  CHECK_FALSE(none.find(kA));
  test::write_file(folder / "file", "");
  const RunCache blocked(folder / "file", kMuch);
  keep_run(blocked, folder, kB, "content");
  CHECK_FALSE(blocked.find(kB));
  keep_run(RunCache(folder / "cache", kMuch), folder, "", "content");
  CHECK_FALSE(fs::exists(folder / "cache"));
}

TEST_CASE("run cache: a key follows from the content", "[engine]") {
  CHECK(run_key("a") == run_key("a"));
  CHECK(run_key("a") != run_key("b"));
  CHECK(run_key("").size() == 36);
}
