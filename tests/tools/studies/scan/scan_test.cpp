// Many snapshots at once: from folders and archives, and in what ranks differ.
#include <archive.h>
#include <archive_entry.h>
#include <sqlite3.h>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/support/command_run.hpp"
#include "tests/support/temp_dir.hpp"
#include "tools/studies/scan/memory_gate.hpp"

using namespace highwater;
using namespace highwater::test;
using Catch::Contains;

namespace {

constexpr std::uint64_t kMiB = 1 << 20;

/// 100 MiB of weights and 40 MiB of activations in each of eight steps; `cached` more are kept from
/// the first forward on, and `leaked` more in each step.
std::string rank_trace(std::uint64_t cached, std::uint64_t leaked) {
  std::string text =
      "frame 0 10 train.py\tstep\nframe 1 20 cache.py\tkeep\nstack 0 0\nstack 1 1\n"
      "a w 104857600 0 parameter @0\n";
  for (int step = 0; step < 8; ++step) {
    text += fmt::format("step {}\nphase forward\na x{} 41943040 0 activation @0\n", step, step);
    if (cached > 0 && step == 0) {
      text += fmt::format("a c {} 0 activation @1\n", cached * kMiB);
    }
    if (leaked > 0) {
      text += fmt::format("a l{} {} 0 activation @1\n", step, leaked * kMiB);
    }
    text += fmt::format("phase backward\nf x{}\n", step);
  }
  return text;
}

struct Member {
  std::string name;
  std::string content;
};

/// Eight ranks: 3 caches 64 MiB, 5 loses 4 MiB in each step.
std::vector<Member> eight_ranks() {
  std::vector<Member> members;
  for (int rank = 0; rank < 8; ++rank) {
    members.push_back(
        {fmt::format("job/rank{}.trace", rank), rank_trace(rank == 3 ? 64 : 0, rank == 5 ? 4 : 0)});
  }
  return members;
}

using AddFilter = int (*)(::archive*);
using SetFormat = int (*)(::archive*);

void write_archive(const std::filesystem::path& path, const std::vector<Member>& members,
                   SetFormat format, AddFilter filter) {
  ::archive* const out = ::archive_write_new();
  format(out);
  filter(out);
  REQUIRE(::archive_write_open_filename(out, path.c_str()) == ARCHIVE_OK);
  for (const Member& member : members) {
    ::archive_entry* const entry = ::archive_entry_new();
    ::archive_entry_set_pathname(entry, member.name.c_str());
    ::archive_entry_set_filetype(entry, AE_IFREG);
    ::archive_entry_set_perm(entry, 0644);
    ::archive_entry_set_size(entry, static_cast<::la_int64_t>(member.content.size()));
    REQUIRE(::archive_write_header(out, entry) == ARCHIVE_OK);
    ::archive_write_data(out, member.content.data(), member.content.size());
    ::archive_entry_free(entry);
  }
  REQUIRE(::archive_write_close(out) == ARCHIVE_OK);
  ::archive_write_free(out);
}

void write_tar(const std::filesystem::path& path, const std::vector<Member>& members) {
  write_archive(path, members, ::archive_write_set_format_pax_restricted,
                ::archive_write_add_filter_none);
}

void write_folder(const TempDir& folder, const std::vector<Member>& members) {
  std::filesystem::create_directory(folder / "job");
  for (const Member& member : members) {
    write_file(folder / member.name, member.content);
  }
}

/// Rows without the names of their files.
boost::json::array nameless_rows(const std::filesystem::path& scanned) {
  boost::json::array rows = json_of("scan " + scanned.string()).at("rows").as_array();
  for (boost::json::value& row : rows) {
    row.as_object().erase("file");
  }
  return rows;
}

}  // namespace

TEST_CASE("scan: archives hold what the folder holds", "[scan]") {
  const TempDir folder;
  const std::vector<Member> members = eight_ranks();
  write_folder(folder, members);
  const boost::json::array expected = nameless_rows(folder / "job");
  REQUIRE(expected.size() == 8);
  const auto check = [&](std::string_view name, SetFormat format, AddFilter filter) {
    CAPTURE(name);
    write_archive(folder / name, members, format, filter);
    CHECK(nameless_rows(folder / name) == expected);
  };
  check("a.tar", ::archive_write_set_format_pax_restricted, ::archive_write_add_filter_none);
  check("a.tar.gz", ::archive_write_set_format_gnutar, ::archive_write_add_filter_gzip);
  check("a.txz", ::archive_write_set_format_ustar, ::archive_write_add_filter_xz);
  check("a.tar.zst", ::archive_write_set_format_pax, ::archive_write_add_filter_zstd);
  check("a.zip", ::archive_write_set_format_zip, ::archive_write_add_filter_none);
}

TEST_CASE("scan: a member of an archive may be compressed itself", "[scan]") {
  const TempDir folder;
  const std::string file =
      read_file(HIGHWATER_SOURCE "/traces/recorded/fake/gpt2-fp32-emptycache.hwt.xz");
  write_tar(folder / "a.tar", {{"notes.txt", "read me"}, {"r/rank7.hwt.xz", file}});
  const boost::json::object scan = json_of("scan " + folder.path().string());
  REQUIRE(scan.at("rows").as_array().size() == 1);
  const auto& row = scan.at("rows").at(0).as_object();
  CHECK(row.at("file") == "a.tar/r/rank7.hwt.xz");
  CHECK(row.at("rank").to_number<int>() == 7);
  CHECK(row.at("fidelity").to_number<double>() == 1);
}

TEST_CASE("scan: what is whole in a damaged archive is read", "[scan]") {
  const TempDir folder;
  const std::string tar = (folder / "a.tar").string();
  write_tar(tar, eight_ranks());
  const std::string whole = read_file(tar);

  SECTION("cut short") {
    write_file(tar, std::string_view(whole).substr(0, whole.find("job/rank3.trace") + 600));
    const CommandRun scanned = run_line("scan " + tar);
    CHECK(scanned.code == ExitCode::bad_input);
    CHECK_THAT(scanned.out, Contains("a.tar: byte ") && Contains("damaged archive: Truncated") &&
                                Contains("copy it again"));
    CHECK_THAT(scanned.out, Contains("5 rows, 2 unreadable"));  // ranks 0 to 2; rank 3; the rest
  }
  SECTION("a header") {
    std::string damaged = whole;
    damaged[whole.find("job/rank3.trace") + 150] ^= 0x55;  // its check sum
    write_file(tar, damaged);
    const CommandRun scanned = run_line("scan " + tar);
    CHECK(scanned.code == ExitCode::bad_input);
    CHECK_THAT(scanned.out, Contains("8 rows, 1 unreadable") && Contains("rank7.trace"));
  }
  SECTION("none at all") {
    write_file(tar, std::string(10240, 'x'));
    CHECK_THAT(run_line("scan " + tar).out, Contains("Unrecognized archive format"));
    write_tar(tar, {{"notes.txt", "read me"}});
    CHECK_THAT(run_line("scan " + tar).out, Contains("contains no .pickle"));
  }
}

TEST_CASE("scan: an archive that grows beyond measure is refused", "[scan]") {
  const TempDir folder;
  const std::string name = (folder / "a.zip").string();
  write_archive(name, {{"rank0.trace", std::string(160 * kMiB, '\n')}},
                ::archive_write_set_format_zip, ::archive_write_add_filter_none);
  const CommandRun scanned = run_line("scan " + name);
  CHECK(scanned.code == ExitCode::bad_input);
  CHECK_THAT(scanned.out, Contains("250 times") && Contains("--max-expansion none"));
}

// Rank 3 holds 64 MiB of activations more than the 40 MiB of the others, made in forward at
// cache.py:20; rank 5 is 4 MiB per step off, and holds 32 MiB at the peak of its eighth step.
TEST_CASE("scan: tells in what a rank differs", "[scan]") {
  const TempDir folder;
  write_folder(folder, eight_ranks());
  const boost::json::object scan = json_of("scan " + (folder / "job").string());
  const auto& rows = scan.at("rows").as_array();
  for (std::size_t rank = 0; rank < 8; ++rank) {
    CAPTURE(rank);
    CHECK(rows[rank].at("outlier_allocated").as_bool() == (rank == 3 || rank == 5));
    CHECK(rows[rank].at("outlier_growth").as_bool() == (rank == 5));
    CHECK(rows[rank].at("growth_bytes_per_step").to_number<double>() ==
          (rank == 5 ? 4.0 * kMiB : 0.0));
  }
  std::vector<std::string> told;
  for (const auto& each : scan.at("differences").as_array()) {
    told.push_back(fmt::format(
        "{} {} {} {} {}", each.at("rank").as_int64(), each.at("kind").as_string().c_str(),
        each.at("name").as_string().c_str(), each.at("bytes").to_number<std::uint64_t>() / kMiB,
        each.at("usual_bytes").to_number<std::uint64_t>() / kMiB));
  }
  CHECK(told == std::vector<std::string>{"3 category activation 104 40", "3 phase forward 104 40",
                                         "3 site cache.py:20 keep 64 0",
                                         "5 category activation 72 40", "5 phase forward 72 40",
                                         "5 site cache.py:20 keep 32 0"});
}

TEST_CASE("scan: lines, database and page hold the rows", "[scan]") {
  const TempDir folder;
  write_folder(folder, eight_ranks());
  const std::string database = (folder / "scan.db").string();
  const std::string page = (folder / "scan.html").string();
  const CommandRun scanned = run_line("scan " + (folder / "job").string() +
                                      " --format jsonl --sqlite " + database + " --html " + page);
  REQUIRE(scanned.code == ExitCode::ok);
  CHECK(std::ranges::count(scanned.out, '\n') == 8);
  const auto line = boost::json::parse(scanned.out.substr(0, scanned.out.find('\n')));
  CHECK(line.at("file") == "rank0.trace");
  CHECK(line.at("held").at(0).at("name") == "parameter");

  ::sqlite3* opened = nullptr;
  REQUIRE(::sqlite3_open_v2(database.c_str(), &opened, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK);
  const auto ask = [&](const char* sql) {
    ::sqlite3_stmt* statement = nullptr;
    REQUIRE(::sqlite3_prepare_v2(opened, sql, -1, &statement, nullptr) == SQLITE_OK);
    REQUIRE(::sqlite3_step(statement) == SQLITE_ROW);
    const auto value = static_cast<std::uint64_t>(::sqlite3_column_int64(statement, 0));
    ::sqlite3_finalize(statement);
    return value;
  };
  CHECK(ask("select count(*) from ranks") == 8);
  CHECK(ask("select peak_allocated_bytes from ranks where rank = 3") == 204 * kMiB);
  CHECK(ask("select bytes from held join ranks on id = rank_id where rank = 5 and kind = 'site' "
            "and name = 'cache.py:20 keep'") == 32 * kMiB);
  CHECK(ask("select count(*) from differences") == 6);
  ::sqlite3_close(opened);

  const std::string html = read_file(page);
  CHECK_THAT(html, Contains("<title>rank 3: 204.00 MiB</title><rect class=\"off\""));
  CHECK_THAT(html, Contains("<title>rank 0: 140.00 MiB</title><rect x="));
  CHECK_THAT(html, Contains("cache.py:20 keep"));
}

// A link that leads to itself stands for what a scan finds but may not look at: permissions mean
// nothing to root.
TEST_CASE("scan: what cannot be looked at is a row", "[scan]") {
  const TempDir folder;
  write_folder(folder, eight_ranks());
  std::filesystem::remove(folder / "job/rank7.trace");
  std::filesystem::create_symlink("rank7.trace", folder / "job/rank7.trace");
  const CommandRun scanned = run_line("scan " + (folder / "job").string() + " --format json");
  CHECK(scanned.code == ExitCode::bad_input);
  const auto rows = boost::json::parse(scanned.out).at("rows").as_array();
  REQUIRE(rows.size() == 8);
  CHECK(rows[7].at("rank").to_number<int>() == 7);
  CHECK_THAT(rows[7].at("error").as_string().c_str(),
             Contains("rank7.trace: cannot be read: Too many levels of symbolic links"));
}

TEST_CASE("scan: a folder without permission is a row", "[scan]") {
  const TempDir folder;
  write_folder(folder, eight_ranks());
  const std::filesystem::path hidden = folder / "job/rank8";
  std::filesystem::create_directory(hidden);
  std::filesystem::permissions(hidden, std::filesystem::perms::none);
  const bool is_root = ::geteuid() == 0;
  const CommandRun scanned = run_line("scan " + (folder / "job").string() + " --format json");
  std::filesystem::permissions(hidden, std::filesystem::perms::owner_all);
  if (is_root) {
    WARN("skipped: root may look into every folder");
    return;
  }
  CHECK(scanned.code == ExitCode::bad_input);
  const auto rows = boost::json::parse(scanned.out).at("rows").as_array();
  REQUIRE(rows.size() == 9);
  CHECK(rows[8].at("rank").to_number<int>() == 8);
  CHECK_THAT(rows[8].at("error").as_string().c_str(),
             Contains("job/rank8: cannot be read: Permission denied; check its permissions"));
}

TEST_CASE("scan: a database holds valid text, whatever files are called", "[scan]") {
  const TempDir folder;
  write_file(folder / "rank0-\xFF.trace", rank_trace(0, 0));
  write_file(folder / "rank1.trace", rank_trace(0, 0));
  const std::string database = (folder / "scan.db").string();
  REQUIRE(run_line("scan " + folder.path().string() + " --sqlite " + database).code ==
          ExitCode::ok);
  ::sqlite3* opened = nullptr;
  REQUIRE(::sqlite3_open_v2(database.c_str(), &opened, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK);
  ::sqlite3_stmt* statement = nullptr;
  REQUIRE(::sqlite3_prepare_v2(opened, "select file from ranks where rank = 0", -1, &statement,
                               nullptr) == SQLITE_OK);
  REQUIRE(::sqlite3_step(statement) == SQLITE_ROW);
  CHECK(std::string(reinterpret_cast<const char*>(::sqlite3_column_text(statement, 0))) ==
        "rank0-\xEF\xBF\xBD.trace");
  ::sqlite3_finalize(statement);
  ::sqlite3_close(opened);
}

TEST_CASE("scan: names of files do not become markup", "[scan]") {
  const TempDir folder;
  write_file(folder / "<b>.trace", "broken <i>");
  const std::string page = (folder / "scan.html").string();
  run_line("scan " + folder.path().string() + " --html " + page);
  CHECK_THAT(read_file(page), Contains("&lt;b&gt;.trace") && !Contains("<b>"));
}

TEST_CASE("memory gate: one larger than the bound passes alone", "[scan]") {
  MemoryGate gate(100);
  const auto fits = [&](std::uint64_t bytes) { return gate.would_pass(bytes); };
  const MemoryGate::Pass first(gate, 60);
  CHECK(fits(40));
  CHECK_FALSE(fits(41));
  {
    const MemoryGate::Pass second(gate, 40);
    CHECK_FALSE(fits(1));
  }
  CHECK_FALSE(fits(1000));
  MemoryGate other(100);
  CHECK(other.would_pass(1000));
}

TEST_CASE("scan: the mean of equal ranks is what each of them has", "[scan]") {
  const TempDir folder;
  constexpr int kRanks = 300;
  for (int rank = 0; rank < kRanks; ++rank) {
    write_file(folder / fmt::format("rank{}.trace", rank), "a w 8879341568 0\na v 3 0\n");
  }
  const auto report = json_of("scan " + folder.path().string());
  for (const char* figure : {"peak_reserved", "peak_allocated"}) {
    const auto& spread = report.at(figure).as_object();
    CAPTURE(boost::json::serialize(spread));
    CHECK(spread.at("mean_bytes").to_number<double>() ==
          spread.at("lowest_bytes").to_number<double>());
    CHECK(spread.at("imbalance").to_number<double>() == 0);
  }
}
