// Blocks as bands over time: each column a true state of the run, nothing lost between what is kept
// and what is summed.
#include "sim/peak/memory_bands.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

#include "sim/peak/replay_history.hpp"
#include "tests/sim/peak/two_segments.hpp"
#include "tests/support/format_io.hpp"

using namespace highwater;
using namespace highwater::literals;
using namespace highwater::test;

namespace {

struct RunBands {
  BandColumns columns;
  SplitBands bands;
  std::uint64_t unseen = 0;
  std::vector<TimelineBucket> curve;
};

/// Every band is kept, but for those that `limits` sums.
RunBands bands_of(const std::string& text, std::size_t most,
                  const BandLimits& limits = {.bands = 5000, .resolution = 1U << 30U}) {
  const RequestTrace trace = test::parse_text(text);
  const auto replay = [&](StateObserver& observer) {
    replay_watched(trace, default_options(), observer);
  };
  const ReplayHistory history = collect_history(trace, replay);
  RunBands run;
  run.columns = band_columns(history.timeline, most);
  BandRecorder recorder(run.columns, trace.allocation_count, limits);
  replay(recorder);
  run.bands = recorder.take();
  run.unseen = recorder.unseen();
  run.curve = history.timeline.buckets();
  return run;
}

/// What the bands add up to in each column.
std::vector<Bytes> heights(const RunBands& run) {
  std::vector<Bytes> sums(run.columns.moments.size());
  for (const Band& band : run.bands.kept) {
    for (std::size_t column = band.first; column < band.last; ++column) {
      sums[column] += band.size;
    }
  }
  return sums;
}

/// Block i lives until block i + 3 is there; a small one lives for a moment in between.
std::string rolling_trace(std::size_t blocks) {
  std::string text = "conf \n";
  for (std::size_t i = 0; i < blocks; ++i) {
    text += "a b" + std::to_string(i) + " " + std::to_string((i % 7 + 1) << 20U) + " 0\n";
    text += "a s" + std::to_string(i) + " 512 0\nf s" + std::to_string(i) + "\n";
    if (i >= 3) {
      text += "f b" + std::to_string(i - 3) + "\n";
    }
  }
  return text;
}

}  // namespace

TEST_CASE("bands: a block lasts from its allocation to its free", "[sim][bands]") {
  const RunBands run = bands_of(kTrace, 100);
  CHECK(run.columns.width == 1);
  CHECK(run.columns.moments == std::vector<std::uint64_t>{0, 1, 2, 3});
  CHECK(run.columns.highest == 4_MiB);
  REQUIRE(run.bands.kept.size() == 2);
  const TimedBand& x = run.bands.kept[0];
  CHECK(x.size == 1_MiB);
  CHECK((x.first == 0 && x.last == 4 && x.begin == 0 && x.end == TimedBand::kNever));
  const TimedBand& y = run.bands.kept[1];
  CHECK((y.first == 1 && y.last == 2 && y.begin == 1 && y.end == 2));
}

TEST_CASE("bands: a column is the highest moment of its operations", "[sim][bands]") {
  const RunBands run = bands_of(rolling_trace(500), 64);
  REQUIRE(run.columns.moments.size() <= 64);
  const std::vector<Bytes> sums = heights(run);
  for (std::size_t column = 0; column < sums.size(); ++column) {
    Bytes highest;
    for (std::uint64_t i = 0; i < run.columns.width; ++i) {
      const std::size_t operation = column * run.columns.width + i;
      if (operation < run.curve.size()) {
        highest = std::max(highest, run.curve[operation].high[1]);
      }
    }
    CHECK(sums[column] == highest);
  }
}

TEST_CASE("bands: blocks that no column shows are counted", "[sim][bands]") {
  const RunBands run = bands_of(rolling_trace(500), 64);
  CHECK(run.unseen > 400);
  CHECK(run.unseen + run.bands.kept.size() == 1000);
}

TEST_CASE("bands: the heaviest are kept, the others summed, none lost", "[sim][bands]") {
  const RunBands all = bands_of(rolling_trace(500), 1000);
  const RunBands run = bands_of(rolling_trace(500), 1000, {.bands = 50, .resolution = 1000});
  REQUIRE(run.bands.kept.size() == 50);
  CHECK(run.bands.kept.size() + run.bands.summed.size() == all.bands.kept.size());
  CHECK(std::ranges::is_sorted(run.bands.kept, {}, &TimedBand::begin));
  const double lightest = std::ranges::min_element(run.bands.kept, {}, &Band::area)->area();
  for (const Band& band : run.bands.summed) {
    CHECK(band.area() <= lightest);
  }
  std::vector<Bytes> sums = heights(run);
  const auto group = [](const Band& band) { return band.size.count() >> 20U; };
  const std::vector<BandSum> groups = sum_bands(run.bands.summed, sums.size(), group);
  CHECK(groups.size() > 3);
  CHECK(std::ranges::is_sorted(groups, std::ranges::greater{}, &BandSum::area));
  for (const BandSum& sum : groups) {
    std::int64_t now = 0;
    for (std::size_t column = 0; column < sums.size(); ++column) {
      now += sum.changes[column];
      sums[column] += Bytes{static_cast<std::uint64_t>(now)};
    }
  }
  CHECK(sums == heights(all));
}

TEST_CASE("bands: what is too low to be seen is summed", "[sim][bands]") {
  const RunBands run = bands_of("conf \na big 104857600 0\na small 512 0\n", 10, {});
  REQUIRE(run.bands.kept.size() == 1);
  CHECK(run.bands.kept[0].size == 100_MiB);
  CHECK(run.bands.summed.size() == 1);
}
