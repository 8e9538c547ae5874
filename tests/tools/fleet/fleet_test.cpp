// Pieces of work: results in order whatever finishes first, kept, resumed, and in shards.
#include "tools/fleet/fleet.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include <catch2/catch.hpp>

#include "tests/support/temp_dir.hpp"
#include "tools/fleet/run_identity.hpp"

using namespace highwater;
using Catch::Contains;

namespace {

struct Sample {
  std::string name;
  std::optional<Bytes> size;
  std::vector<std::pair<int, double>> list;
  StreamId stream;

  bool operator==(const Sample&) const = default;
};

FleetRequest request_of(const std::string& command) {
  FleetRequest request;
  request.run = {.version = "1", .arguments = {command}, .inputs = "", .shard = {}};
  return request;
}

/// 0, 1, 4, ... as text, and which numbers were computed.
std::string squares(Fleet& fleet, std::size_t count, std::atomic<int>* computed = nullptr) {
  std::string text;
  fleet.stream(
      "squares", count,
      [&](PieceNumber n) {
        if (computed != nullptr) {
          ++*computed;
        }
        return n * n;
      },
      [&](PieceNumber n, std::uint64_t square) {
        text += std::to_string(n) + ":" + std::to_string(square) + " ";
      });
  return text;
}

std::string squares_by_hand(std::size_t count) {
  std::string text;
  for (std::size_t n = 0; n < count; ++n) {
    text += std::to_string(n) + ":" + std::to_string(n * n) + " ";
  }
  return text;
}

void write_shard(const std::string& file, Shard shard, std::size_t count) {
  FleetRequest request = request_of("squares");
  request.run.shard = shard;
  request.part = file;
  Fleet fleet(request);
  CHECK(squares(fleet, count).empty());  // somebody else takes the results
  CHECK_THROWS_AS(fleet.end_of_pieces(), PiecesOnly);
}

void cut(const std::string& file, std::uint64_t bytes) {
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - bytes);
}

}  // namespace

TEST_CASE("a result survives as bytes") {
  const Sample sample{"name", Bytes{5}, {{1, 0.5}, {-2, 1e300}}, StreamId{7U}};
  const std::string bytes = to_bytes(sample);
  CHECK(from_bytes<Sample>(bytes) == sample);
  CHECK(from_bytes<Sample>(to_bytes(Sample{})) == Sample{});
  CHECK_THROWS_AS(from_bytes<Sample>(bytes.substr(0, bytes.size() - 1)), Error);
}

TEST_CASE("results come in order whatever is ready first") {
  std::vector<std::size_t> order;
  OrderedDelivery delivery([&](std::size_t position, std::string&&) { order.push_back(position); });
  delivery.deliver(2, {"c"});
  delivery.deliver(1, {"b"});
  CHECK(order.empty());
  delivery.deliver(0, {"a"});
  delivery.deliver(1, {"again"});  // came late, from a rank that had stalled
  CHECK(order == std::vector<std::size_t>{0, 1, 2});
  CHECK(delivery.next() == 3);
}

TEST_CASE("who is far ahead waits, so memory stays bounded") {
  std::atomic<std::size_t> taken = 0;
  OrderedDelivery delivery([&](std::size_t, std::string&&) { ++taken; }, 2);
  std::atomic<bool> is_through = false;
  std::thread ahead([&] {
    delivery.wait_and_deliver(2, {"c"});
    is_through = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_FALSE(is_through);
  delivery.wait_and_deliver(0, {"a"});
  delivery.wait_and_deliver(1, {"b"});
  ahead.join();
  CHECK(taken == 3);
}

TEST_CASE("the first failure in the order of pieces is the one that is reported") {
  Fleet fleet;
  const auto run = [&] {
    fleet.stream(
        "pieces", 100,
        [](PieceNumber n) {
          if (n == 40) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));  // later than 41
          }
          if (n >= 40) {
            throw UsageError("piece " + std::to_string(n));
          }
          return n;
        },
        [](PieceNumber, PieceNumber) {});
  };
  CHECK_THROWS_WITH(run(), "piece 40");
}

TEST_CASE("what a journal has is not carried out again") {
  const test::TempDir folder;
  FleetRequest request = request_of("squares");
  request.journal = folder / "journal";
  {
    Fleet fleet(request);
    CHECK(squares(fleet, 50) == squares_by_hand(50));
  }
  CHECK_THROWS_WITH(Fleet(request), Contains("--resume"));
  request.resume = Resume::yes;
  cut(request.journal, 1);  // a crash in the middle of the last record
  std::atomic<int> computed = 0;
  {
    Fleet fleet(request);
    CHECK(squares(fleet, 50, &computed) == squares_by_hand(50));
    CHECK(computed == 1);
  }
  Fleet again(request);
  computed = 0;
  CHECK(squares(again, 50, &computed) == squares_by_hand(50));
  CHECK(computed == 0);
}

TEST_CASE("a journal of another run, or a damaged one, is refused") {
  const test::TempDir folder;
  FleetRequest request = request_of("squares");
  request.journal = folder / "journal";
  request.resume = Resume::yes;  // begins it
  {
    Fleet(request).stream(
        "n", 3, [](PieceNumber n) { return n; }, [](PieceNumber, PieceNumber) {});
  }
  FleetRequest other = request;
  other.run.arguments = {"cubes"};
  CHECK_THROWS_WITH(Fleet(other), Contains("another command: highwater squares"));
  other = request;
  other.run.inputs = "changed";
  CHECK_THROWS_WITH(Fleet(other), Contains("other inputs"));
  other = request;
  other.run.version = "2";
  CHECK_THROWS_WITH(Fleet(other), Contains("is of highwater 1, this is 2"));
  {
    std::fstream file(request.journal, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(
        static_cast<std::streamoff>(header_line(request.run).size() + 24));  // the first result
    file.put('\x55');
  }
  CHECK_THROWS_WITH(Fleet(request), Contains("a damaged record"));
}

TEST_CASE("each piece that is carried out has its time in a file") {
  const test::TempDir folder;
  FleetRequest request = request_of("squares");
  request.journal = folder / "journal";
  {
    Fleet(request).stream(
        "n", 2, [](PieceNumber n) { return n * n; }, [](PieceNumber, PieceNumber) {});
  }
  request.resume = Resume::yes;
  request.times = folder / "times";
  Fleet fleet(request);
  CHECK(squares(fleet, 5) == squares_by_hand(5));
  CHECK_FALSE(std::filesystem::exists(request.times));
  fleet.end_of_pieces();
  std::ifstream file(request.times);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
  }
  std::ranges::sort(lines);
  REQUIRE(lines.size() == 4);  // what the journal had took no time
  for (const std::size_t i : {0U, 1U, 2U}) {
    CHECK_THAT(lines[i], Catch::StartsWith("{\"list\":0,\"piece\":" + std::to_string(i + 2) +
                                           ",\"seconds\":"));
  }
  CHECK_THAT(lines[3],
             Catch::StartsWith("{\"list\":0,\"what\":\"squares\",\"pieces\":3,\"seconds\":"));
}

TEST_CASE("shards merge to the whole") {
  const test::TempDir folder;
  for (const std::uint64_t shards : {1U, 2U, 3U, 9U}) {  // the last have shards without a piece
    std::vector<std::string> files;
    for (std::uint64_t i = 1; i <= shards; ++i) {
      files.push_back(folder / (std::to_string(shards) + "-" + std::to_string(i)));
      write_shard(files.back(), {i, shards}, 7);
    }
    PartFiles parts(files);
    const MergeScope scope(parts);
    Fleet fleet(request_of("squares"));
    std::atomic<int> computed = 0;
    CHECK(squares(fleet, 7, &computed) == squares_by_hand(7));
    CHECK(computed == 0);
    CHECK_THROWS_WITH(Fleet(request_of("cubes")), Contains("another command"));
  }
}

TEST_CASE("parts that are missing, given twice, foreign or cut short are named") {
  const test::TempDir folder;
  const std::string first = folder / "first";
  const std::string second = folder / "second";
  write_shard(first, {1, 2}, 7);
  write_shard(second, {2, 2}, 7);
  CHECK_THROWS_WITH(PartFiles({first}), Contains("shard 2/2 is missing"));
  CHECK_THROWS_WITH(PartFiles({first, first}), Contains("is shard 1/2, and so is " + first));
  CHECK_THROWS_WITH(PartFiles({folder / "none"}), Contains("No such file"));
  const std::string third = folder / "third";
  write_shard(third, {2, 3}, 7);
  CHECK_THROWS_WITH(PartFiles({first, third}), Contains("is of another shard than " + first));
  cut(second, 1);
  CHECK_THROWS_WITH(PartFiles({first, second}), Contains("is cut short"));
  std::ofstream(second) << "text\n";
  CHECK_THROWS_WITH(PartFiles({second}), Contains("holds no results of pieces"));
}

TEST_CASE("the identity of a run leaves out where results go") {
  CHECK(without_options({"a", "--shard", "1/2", "--output=x", "--resume", "--set", "b"},
                        {{"shard", true}, {"output", true}, {"resume", false}}) ==
        std::vector<std::string>{"a", "--set", "b"});
  const test::TempDir folder;
  const std::string name = folder / "input";
  std::ofstream(name) << "one";
  const std::string before = check_of_inputs({"--from=" + name});
  CHECK(before == check_of_inputs({name}));
  std::ofstream(name) << "two";
  CHECK(check_of_inputs({name}) != before);
  CHECK(check_of_inputs({folder / ""}) != before);
}
