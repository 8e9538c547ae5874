// Sequences: a request trace under chosen settings and devices gives the figures that follow by
// hand.
#include "sim/replay/replay.hpp"

#include <catch2/catch.hpp>

#include "tests/support/format_io.hpp"

using namespace highwater;
using namespace highwater::literals;

namespace {

ReplayOptions with(const std::string& conf, std::optional<Bytes> capacity = std::nullopt) {
  ReplayOptions options;
  options.version = &version_preset("2.6");
  options.settings = parse_settings(conf, *options.version);
  options.capacity = capacity;
  return options;
}

/// The release that has use_on_oom.
ReplayOptions with_2_15(Bytes capacity) {
  ReplayOptions options = with("", capacity);
  options.version = &version_preset("2.15");
  return options;
}

const char* const kSawtooth =
    "conf \n"
    "a 1 31457280 0\na 2 5242880 0\nf 1\na 3 36700160 0\nf 2\nf 3\n";

}  // namespace

TEST_CASE("replay: peaks are each at their own moment", "[sim][replay]") {
  const ReplayResult result = replay(test::parse_text(kSawtooth), with(""));
  CHECK(result.peak.requested == 40_MiB);
  CHECK(result.peak.allocated == 41_MiB);  // 1 MiB stays with the block of 35 MiB
  CHECK(result.peak.reserved == 86_MiB);   // 30, 20 and 36 MiB segments
  CHECK(result.at_peak_reserved.active == 41_MiB);
  CHECK(result.final.allocated == 0_B);
  CHECK(result.final.reserved == 86_MiB);
  CHECK(result.counts.allocs == 3);
  CHECK(result.counts.frees == 3);
  CHECK(result.counts.device_alloc == 3);
  CHECK(result.fragmentation.peak == Approx(1.0 - 41.0 / 86));
  CHECK(result.operations == 6);
}

TEST_CASE("replay: other settings give other figures for the same requests", "[sim][replay]") {
  const ReplayResult result = replay(test::parse_text(kSawtooth), with("expandable_segments:True"));
  CHECK(result.peak.reserved == 80_MiB);
  CHECK(result.counts.segment_map == result.counts.device_alloc);
}

TEST_CASE("replay: bytes are counted by pool, at the peak and at the end", "[sim][replay]") {
  const ReplayResult result =
      replay(test::parse_text("conf \na 1 31457280 0\npool_begin 7\na 2 36700160 0\npool_end 7\n"
                              "f 1\nc\n"),
             with(""));
  REQUIRE(result.pools.size() == 2);
  CHECK(result.pools[0].owner.is_default());
  CHECK(result.pools[0].at_peak == 30_MiB);
  CHECK(result.pools[0].final == 0_B);
  CHECK(result.pools[1].at_peak == 36_MiB);
  CHECK(result.pools[1].final == 36_MiB);
  CHECK(result.pools[1].allocated == 36_MiB);  // 1 MiB stays with the block of 35
  CHECK(result.pools[0].at_peak + result.pools[1].at_peak == result.peak.reserved);
  CHECK(private_share(result.pools).at_peak == 36_MiB);
}

TEST_CASE("replay: a pool that is gone has what it held at the peak, later ones nothing",
          "[sim][replay]") {
  const ReplayResult result =
      replay(test::parse_text("conf \npool_begin 7\na 1 31457280 0\npool_end 7\npool_begin 8\na 2 "
                              "20971520 0\npool_end 8\na 3 41943040 0\nf 1\npool_release 7\nc\n"
                              "pool_begin 9\na 4 20971520 0\npool_end 9\n"),
             with(""));
  REQUIRE(result.peak.reserved == 90_MiB);
  REQUIRE(result.pools.size() == 4);
  const Bytes at_peak[] = {40_MiB, 30_MiB, 20_MiB, 0_B};
  const Bytes final[] = {40_MiB, 0_B, 20_MiB, 20_MiB};
  for (std::size_t i = 0; i < 4; ++i) {
    CAPTURE(i);
    CHECK(result.pools[i].at_peak == at_peak[i]);
    CHECK(result.pools[i].final == final[i]);
  }
}

TEST_CASE("replay: without private pools all bytes are the common pools'", "[sim][replay]") {
  const ReplayResult result = replay(test::parse_text(kSawtooth), with(""));
  REQUIRE(result.pools.size() == 1);
  CHECK(result.pools[0].at_peak == result.peak.reserved);
  CHECK(result.pools[0].final == result.final.reserved);
  CHECK(private_share(result.pools).at_peak == 0_B);
}

TEST_CASE("replay: running out of memory is counted and explained, and the run goes on",
          "[sim][replay]") {
  const ReplayResult result = replay(test::parse_text(kSawtooth), with("", 50_MiB));
  CHECK(result.counts.ooms == 1);
  REQUIRE(result.ooms.size() == 1);
  CHECK(result.ooms[0].operation == 3);
  CHECK(result.ooms[0].account.requested == 35_MiB);
  CHECK(result.ooms[0].account.reserved == 20_MiB);
  CHECK(result.counts.alloc_retries == 1);
  CHECK(result.final.allocated == 0_B);
}

TEST_CASE("replay: a memory limit acts like a smaller device", "[sim][replay]") {
  ReplayOptions options = with("");
  options.memory_limit = 50_MiB;
  CHECK(replay(test::parse_text(kSawtooth), options).counts.ooms == 1);
}

TEST_CASE("replay: peaks survive a reset of the statistics", "[sim][replay]") {
  const ReplayResult result =
      replay(test::parse_text("conf \na 1 31457280 0\nf 1\np\na 2 512 0\n"), with(""));
  CHECK(result.peak.allocated == 30_MiB);
}

TEST_CASE("replay: markers are no operations", "[sim][replay]") {
  const ReplayResult result =
      replay(test::parse_text("conf \nstep 0\nphase forward\na 1 512 0\nop add\nf 1\n"), with(""));
  CHECK(result.operations == 2);
}

TEST_CASE("replay: a pool operation that PyTorch would assert on names itself", "[sim][replay]") {
  REQUIRE_THROWS_WITH(replay(test::parse_text("conf \na 1 512 0\npool_end 3\n"), with("")),
                      Catch::Contains("operation 1") && Catch::Contains("pool 3,0") &&
                          Catch::Contains("never begun"));
}

TEST_CASE("replay: decisions are kept with their operations when asked for", "[sim][replay]") {
  ReplayOptions options = with("");
  CHECK(replay(test::parse_text(kSawtooth), options).decisions.empty());
  options.decisions = DecisionDetail::keep;
  const ReplayResult result = replay(test::parse_text(kSawtooth), options);
  REQUIRE(result.decisions.size() == 12);  // 3 segments, 3 allocs, 3 times two for the frees
  CHECK(decision_line(result.decisions[0], {0}) == "0 segment_alloc 0x7f0000000000 31457280 0");
  CHECK(decision_line(result.decisions.back(), {0}).starts_with("5 free_completed"));
}

TEST_CASE("replay: a limit that the program sets holds from there on", "[sim][replay]") {
  const RequestTrace trace = test::parse_text(
      "conf \na 1 31457280 0\nlimit 41943040\na 2 20971520 0\nlimit none\na 3 20971520 0\n");
  const ReplayResult result = replay(trace, with(""));
  REQUIRE(result.ooms.size() == 1);
  CHECK(result.ooms[0].account.allowed == 40_MiB);
  CHECK(result.peak.reserved == 50_MiB);
}

TEST_CASE("replay: a caller's limit replaces those of the program", "[sim][replay]") {
  const RequestTrace trace = test::parse_text("conf \nlimit 1\na 1 31457280 0\na 2 20971520 0\n");
  ReplayOptions options = with("");
  options.limits = MemoryLimits::of_the_caller;
  CHECK(replay(trace, options).counts.ooms == 0);
  options.memory_limit = 40_MiB;
  CHECK(replay(trace, options).counts.ooms == 1);
}

TEST_CASE("replay: a pool that is retired serves no other request", "[sim][replay]") {
  const std::string begin = "conf \npool_begin 0,1 use_on_oom\na 1 31457280 0\nf 1\npool_end 0,1\n";
  const std::string request = "a 2 20971520 0\n";
  CHECK(replay(test::parse_text(begin + request), with_2_15(40_MiB)).counts.ooms == 0);
  CHECK(replay(test::parse_text(begin + "pool_retire 0,1\n" + request), with_2_15(40_MiB))
            .counts.ooms == 1);
}
