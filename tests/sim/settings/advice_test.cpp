// Advice: the setting that helps is found, a gain that is none is not advised, and the smallest
// limit is one that survives.
#include "sim/settings/advice.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

#include "sim/replay/sweep.hpp"
#include "sim/settings/settings_candidates.hpp"
#include "sim/settings/smallest_limit.hpp"
#include "tests/support/format_io.hpp"
#include "tests/support/random_traces.hpp"

using namespace highwater;
using namespace highwater::literals;

namespace {

ReplayOptions default_options() {
  ReplayOptions options;
  options.version = &version_preset("2.6");
  return options;
}

constexpr std::uint64_t kMiB = 1048576;

std::string alloc(const std::string& name, std::uint64_t mib) {
  return "a " + name + " " + std::to_string(mib * kMiB) + " 0\n";
}

/// Ever larger requests while a small part of the last segment stays in use: each needs a segment
/// of its own, the ones before are pinned.
std::string growing(int requests) {
  std::string text = "conf \n";
  for (int i = 0; i < requests; ++i) {
    const std::string n = std::to_string(i);
    text += alloc("x" + n, 40 + 4 * static_cast<std::uint64_t>(i)) + "f x" + n + "\n" +
            alloc("k" + n, 2);
  }
  return text;
}

}  // namespace

TEST_CASE("advice: expandable segments where ever larger requests leave segments behind",
          "[sim][advice]") {
  const RequestTrace trace = test::parse_text(growing(10));
  const Advice advice = search_settings(trace, default_options(), 1_MiB);
  CHECK(advice.is_worth_it());
  CHECK(advice.best().settings.expandable_segments);
  CHECK(advice.best().options == 1);  // nothing else is needed for it
  CHECK(advice.best().result.peak.reserved < advice.present.result.peak.reserved);
  REQUIRE(advice.best().smallest_limit);
  REQUIRE(advice.present.smallest_limit);
  CHECK(*advice.best().smallest_limit <= *advice.present.smallest_limit);
}

TEST_CASE("advice: defaults are kept where nothing is gained", "[sim][advice]") {
  const RequestTrace trace =
      test::parse_text("conf \n" + alloc("a", 40) + alloc("b", 40) + "f a\nf b\n" + alloc("c", 40));
  const Advice advice = search_settings(trace, default_options(), 1_MiB);
  CHECK_FALSE(advice.is_worth_it());
  CHECK(to_conf(advice.best().settings).empty());
}

TEST_CASE("advice: the present settings come before others that gain less than the noise",
          "[sim][advice]") {
  // 40 to 76 MiB in ten segments with 2 MiB left in each, against one that grows with the largest.
  const RequestTrace trace = test::parse_text(growing(10));
  ReplayOptions options = default_options();
  options.settings = parse_settings("max_split_size_mb:2048", *options.version);
  const Bytes lowest = search_settings(trace, options, 0_B).best().result.peak.reserved;
  const Bytes present = replay(trace, options).peak.reserved;
  const Advice kept = search_settings(trace, options, present);
  CHECK_FALSE(kept.is_worth_it());
  CHECK(kept.best().settings == options.settings);
  CHECK(kept.most_gained() == present - lowest);
  CHECK(kept.most_gained() > Bytes{0});
}

TEST_CASE("advice: the number of settings tried is told", "[sim][advice]") {
  const RequestTrace trace = test::parse_text(growing(10));
  std::size_t tried = 0;
  const auto tell = [&](std::size_t done, std::size_t known) {
    CHECK(done <= known);
    tried = done;
  };
  CHECK(search_settings(trace, default_options(), 1_MiB, {}, tell).trials.size() == tried);
}

TEST_CASE("advice: settings that somebody holds are tried as well", "[sim][advice]") {
  const RequestTrace trace = test::parse_text(growing(10));
  const VersionPreset& version = *default_options().version;
  const std::vector<Settings> asked{
      parse_settings("max_split_size_mb:777,roundup_power2_divisions:4", version),
      parse_settings("expandable_segments:True", version)};
  const Advice advice = search_settings(trace, default_options(), 1_MiB, asked);
  const auto is_asked = [](const SettingsTrial& trial) { return trial.is_asked; };
  CHECK(std::ranges::count_if(advice.trials, is_asked) == 2);
  const auto own = std::ranges::find(advice.trials, asked[0], &SettingsTrial::settings);
  REQUIRE(own != advice.trials.end());
  CHECK(own->smallest_limit);
  CHECK(advice.best().is_asked);  // found by itself, too
  CHECK(advice.trials.size() == search_settings(trace, default_options(), 1_MiB).trials.size() + 1);
}

TEST_CASE("advice: what survives comes before what reserves less", "[sim][advice]") {
  ReplayOptions options = default_options();
  options.capacity = 100_MiB;
  const RequestTrace trace =
      test::parse_text("conf \n" + alloc("a", 60) + "f a\n" + alloc("b", 20) + alloc("c", 60));
  const Advice advice = search_settings(trace, options, 1_MiB);
  CHECK_FALSE(advice.present.survives());
  CHECK(advice.best().survives());
  CHECK(advice.is_worth_it());
  bool still_surviving = true;
  for (const SettingsTrial& trial : advice.trials) {
    CHECK((still_surviving || !trial.survives()));
    still_surviving = trial.survives();
  }
}

TEST_CASE("smallest limit: the least that survives, to within a step", "[sim][advice]") {
  const RequestTrace trace = test::parse_text(growing(10));
  const auto limit = smallest_limit(trace, default_options(), 0_B);
  REQUIRE(limit);
  const auto ooms_under = [&](Bytes bytes) {
    ReplayOptions options = default_options();
    options.memory_limit = bytes;
    return replay(trace, options).counts.ooms;
  };
  CHECK(ooms_under(*limit) == 0);
  CHECK(ooms_under(*limit - 2_MiB) > 0);
}

TEST_CASE("candidates: only values that can act on the trace", "[sim][advice]") {
  const RequestTrace small = test::parse_text("conf \n" + alloc("a", 1));
  CHECK(candidate_values("max_split_size_mb", small, MemoryBound::unlimited).values ==
        std::vector<std::string>{"default"});
  const RequestTrace large = test::parse_text("conf \n" + alloc("a", 130));
  CHECK(candidate_values("max_split_size_mb", large, MemoryBound::unlimited).values ==
        std::vector<std::string>{"default", "32", "64", "128"});
  CHECK(candidate_values("garbage_collection_threshold", large, MemoryBound::unlimited)
            .values.size() == 1);
  CHECK(
      candidate_values("garbage_collection_threshold", large, MemoryBound::limited).values.size() ==
      3);
}

TEST_CASE("sweep: results are those of single replays, in input order", "[sim][sweep]") {
  const RequestTrace trace = test::parse_text(growing(10));
  std::vector<ReplayOptions> cases(4, default_options());
  cases[1].settings = parse_settings("expandable_segments:True", *cases[1].version);
  cases[2].settings = parse_settings("max_split_size_mb:32", *cases[2].version);
  cases[3].capacity = 60_MiB;
  std::size_t told = 0;
  const auto results = sweep(trace, cases, [&](std::size_t done) { told = done; });
  CHECK(told == 4);
  REQUIRE(results.size() == 4);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const ReplayResult single = replay(trace, cases[i]);
    CHECK(results[i].peak == single.peak);
    CHECK(results[i].counts.device_alloc == single.counts.device_alloc);
    CHECK(results[i].counts.ooms == single.counts.ooms);
  }
  CHECK(results[3].counts.ooms > 0);
}
