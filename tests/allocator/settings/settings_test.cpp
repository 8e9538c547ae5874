// Settings strings: the recorded cases, the edges of both grammars, round trips, suggestions.
#include "allocator/settings/settings.hpp"

#include <fstream>
#include <limits>
#include <random>
#include <string>

#include <catch2/catch.hpp>

#include "allocator/settings/settings_describe.hpp"
#include "allocator/settings/settings_options.hpp"
#include "tests/allocator/settings/grammar_presets.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

using namespace literals;

/// "ok", or the reason of the refusal.
std::string outcome(std::string_view conf, const VersionPreset& version) {
  try {
    (void)parse_settings(conf, version);
    return "ok";
  } catch (const SettingsError& error) {
    return error.what();
  }
}

std::array<std::uint64_t, 16> divisions(std::string_view conf, const VersionPreset& version) {
  return parse_settings(conf, version).roundup_power2_divisions;
}

TEST_CASE("settings: every recorded case gives the recorded line", "[allocator][settings]") {
  std::ifstream file(HIGHWATER_TEST_DATA "/conformance/conf_cases.tsv");
  REQUIRE(file);
  std::size_t count = 0;
  for (std::string line; std::getline(file, line); ++count) {
    CHECK(conf_case_line(line.substr(0, line.find('\t')), strict()) == line);
  }
  CHECK(count == 90);
}

TEST_CASE("settings: 2.6 refuses with PyTorch's words", "[allocator][settings]") {
  const auto [conf, reason] = GENERATE(table<std::string, std::string>({
      {",", "Unrecognized CachingAllocator option: ,"},
      {":", "Unrecognized CachingAllocator option: :"},
      {"max_split_size_mb:20", "CachingAllocator option max_split_size_mb too small, must be > 20"},
      {"\tmax_split_size_mb:64", "Unrecognized CachingAllocator option: \tmax_split_size_mb"},
      {"max_split_size_mb:64,,", "Unrecognized CachingAllocator option: ,"},
      {"max_split_size_mb:64:1", "Error parsing CachingAllocator settings, expected ,"},
      {"max_split_size_mb,64", "Error parsing CachingAllocator settings, expected :"},
      {"garbage_collection_threshold:", "Error, expecting garbage_collection_threshold value"},
      {"garbage_collection_threshold:inf", "garbage_collect_threshold too big, set it 0.0~1.0"},
      {"garbage_collection_threshold:-inf", "garbage_collect_threshold too small, set it 0.0~1.0"},
      {"roundup_power2_divisions:", "Error, expecting roundup_power2_divisions value"},
      {"roundup_power2_divisions:[256", "Error parsing CachingAllocator settings, expected :"},
      {"roundup_power2_divisions:[256:", "Error parsing roundup_power2_divisions value"},
      {"roundup_power2_divisions:[256:1", "Error parsing CachingAllocator settings, expected ,"},
      {"roundup_power2_divisions:[256:1:", "Error parsing CachingAllocator settings, expected ,"},
      {"roundup_power2_divisions:[,", "Error parsing CachingAllocator settings, expected :"},
      {"roundup_power2_divisions:[256:1]]", "Error parsing CachingAllocator settings, expected ,"},
      // -2^31 as an unsigned number is no power of two, -2^63 is one.
      {"roundup_power2_divisions:-2147483648", "For roundups, the divisons has to be power of 2 "},
      {"roundup_power2_divisions:[-1:2]", "For roundups, the intervals have to be power of 2 "},
      {"pinned_use_background_threads:", "Error, expecting pinned_use_background_threads value"},
      {"pinned_use_hip_host_register:1",
       "Expected a single True/False argument for pinned_use_cuda_host_register"},
      {"pinned_num_register_threads:256",
       "Number of register threads should be less than or equal to 128"},
      {"pinned_num_register_threads:0", "Number of register threads has to be power of 2 "},
      {"pinned_num_register_threads:", "Error, expecting pinned_num_register_threads value"},
      {"throw_on_cudamalloc_oom:True",
       "Unrecognized CachingAllocator option: throw_on_cudamalloc_oom"},
  }));
  CHECK(outcome(conf, strict()) == reason);
}

TEST_CASE("settings: numbers that cannot be converted name the option and the value",
          "[allocator][settings]") {
  const auto [conf, start] = GENERATE(table<std::string, std::string>({
      {"max_split_size_mb:abc", "max_split_size_mb: 'abc' is not a number in range (stoi)"},
      {"max_split_size_mb:2147483648",
       "max_split_size_mb: '2147483648' is not a number in range (stoi)"},
      {"max_non_split_rounding_mb:[",
       "max_non_split_rounding_mb: '[' is not a number in range (stoi)"},
      {"garbage_collection_threshold:1e-400",
       "garbage_collection_threshold: '1e-400' is not a number in range (stod)"},
      {"garbage_collection_threshold:2e-308",
       "garbage_collection_threshold: '2e-308' is not a number in range (stod)"},
      {"garbage_collection_threshold:,",
       "garbage_collection_threshold: ',' is not a number in range (stod)"},
      {"roundup_power2_divisions:[256:]",
       "roundup_power2_divisions: ']' is not a number in range (stoi)"},
      {"roundup_power2_divisions:[x:2]",
       "roundup_power2_divisions: 'x' is not a number in range (stoul)"},
      {"pinned_num_register_threads:x",
       "pinned_num_register_threads: 'x' is not a number in range (stoi)"},
  }));
  CHECK_THAT(outcome(conf, strict()), Catch::StartsWith(start));
}

TEST_CASE("settings: 2.6 accepts numbers as the C++ library does", "[allocator][settings]") {
  CHECK(parse_settings("max_split_size_mb:+64", strict()).max_split_size == 64_MiB);
  CHECK(parse_settings("max_split_size_mb:\t64", strict()).max_split_size == 64_MiB);
  CHECK(parse_settings("max_split_size_mb:6 4", strict()).max_split_size == 64_MiB);
  // Base 10: the x is trailing garbage.
  CHECK_THAT(outcome("max_split_size_mb:0x40", strict()), Catch::EndsWith("must be > 20"));
}

TEST_CASE("settings: 2.6 reads the threshold as std::stod does", "[allocator][settings]") {
  const auto threshold = [](std::string_view conf) {
    return parse_settings(conf, strict()).garbage_collection_threshold;
  };
  CHECK(threshold("garbage_collection_threshold:0x1p-1") == 0.5);
  CHECK(threshold("garbage_collection_threshold:0.25abc") == 0.25);
}

TEST_CASE("settings: a list of divisions in 2.6 may end after a comma", "[allocator][settings]") {
  const auto full = divisions("roundup_power2_divisions:[256:2]", strict());
  CHECK(divisions("roundup_power2_divisions:[256:2,", strict()) == full);
  CHECK(divisions("roundup_power2_divisions:[256:2,]", strict()) == full);
  CHECK(outcome("roundup_power2_divisions:[", strict()) == "ok");
  CHECK(divisions("roundup_power2_divisions:[-9223372036854775808:2]", strict()) ==
        divisions("roundup_power2_divisions:2", strict()));
}

TEST_CASE("settings: a change at run time resets three options only", "[allocator][settings]") {
  Settings settings = parse_settings(
      "max_split_size_mb:64,garbage_collection_threshold:0.5,roundup_power2_divisions:4,"
      "expandable_segments:True,max_non_split_rounding_mb:32,pinned_num_register_threads:8",
      strict());
  apply_settings("", strict(), settings);
  Settings expected;
  expected.expandable_segments = true;
  expected.max_non_split_rounding_size = 32_MiB;
  expected.pinned_num_register_threads = 8;
  CHECK(settings == expected);
}

TEST_CASE("settings: a refused change leaves what came before it", "[allocator][settings]") {
  Settings settings = parse_settings("max_split_size_mb:64", strict());
  CHECK_THROWS_AS(apply_settings("expandable_segments:True,x:1", strict(), settings),
                  SettingsError);
  CHECK(settings.expandable_segments);
  CHECK(settings.max_split_size == kUnlimited);
}

TEST_CASE("settings: cudaMallocAsync is refused as not modelled", "[allocator][settings]") {
  for (const VersionPreset& version : version_presets()) {
    CHECK_THAT(outcome("backend:cudaMallocAsync", version),
               Catch::StartsWith("Allocator backend parsed at runtime != allocator backend parsed "
                                 "at load time") &&
                   Catch::Contains("not modelled"));
  }
}

TEST_CASE("settings: later releases refuse with their own words", "[allocator][settings]") {
  const auto [conf, reason] = GENERATE(table<std::string, std::string>({
      {"max_split_size_mb:19",
       "CachingAllocator option max_split_size_mb too small, must be >= 20"},
      {"large_segment_size_mb:10", "CachingAllocator option large_segment_size_mb must be > 10 MB"},
      {"max_split_size_mb:39,large_segment_size_mb:40",
       "CachingAllocator option max_split_size_mb too small, must be >= 40"},
      {"max_non_split_rounding_mb:39,large_segment_size_mb:40",
       "CachingAllocator option max_non_split_rounding_mb too small, must be >= 40"},
      {"garbage_collection_threshold:1",
       "garbage_collect_threshold is invalid, set it in (0.0, 1.0)"},
      {"expandable_segments:true",
       "Expected 'True' or 'False' at index 2 in ConfigTokenizer but got 'true'"},
      {"max_split_size_mb:64,pinned_use_background_threads:1",
       "Expected 'True' or 'False' at index 6 in ConfigTokenizer but got '1'"},
      {"max_split_size_mb", "Index out of bounds in ConfigTokenizer"},
      {"max_split_size_mb:", "Index out of bounds in ConfigTokenizer"},
      {"roundup_power2_divisions:[256:1",
       "Expected closing bracket ']' in ConfigTokenizer but reached end of config"},
      {"roundup_power2_divisions:[256:1,",
       "Expected closing bracket ']' in ConfigTokenizer but reached end of config"},
      {"roundup_power2_divisions:3", "For roundups, the divisions has to be power of 2 "},
      {"roundup_power2_divisions:[256:3]",
       "For roundups, the divisions has to be power of 2 or 0 to disable roundup "},
      {"pinned_num_register_threads:3", "Number of register threads has to be power of 2, got 3"},
      {"pinned_num_register_threads:256",
       "Number of register threads should be less than or equal to 128, got 256"},
      {"pinned_reserve_segment_size_mb:0", "Pinned reserve segment size has to be greater than 0"},
      {"per_process_memory_fraction:1.1",
       "per_process_memory_fraction is invalid, set it in [0.0, 1.0]"},
      {"backend:foo", "Unknown allocator backend, options are native and cudaMallocAsync"},
      {"unknown_key:1", "Unrecognized key 'unknown_key' in CUDA allocator config."},
      {"max_split_size_mb=64", "Unrecognized key 'max_split_size_mb=64' in CUDA allocator config."},
      // The options of CUDA are read first, so the error in the one behind is the one that is seen.
      {"max_split_size_mb:1,backend:foo",
       "Unknown allocator backend, options are native and cudaMallocAsync"},
  }));
  CHECK(outcome(conf, tolerant()) == reason);
}

TEST_CASE("settings: an option is known from its release on", "[allocator][settings]") {
  const auto [conf, before, since] = GENERATE(table<std::string, std::string, std::string>({
      {"large_segment_size_mb:40", "2.10", "2.11"},
      {"per_process_memory_fraction:0.5", "2.9", "2.10"},
      {"pinned_free_catch_all:True", "2.11", "2.12"},
      {"pinned_max_cached_size_mb:64", "2.12", "2.13"},
      {"throw_on_cudamalloc_oom:True", "2.11", "2.12"},
      {"expandable_segments_reserve:0.5", "2.14", "2.15"},
  }));
  const std::string name = conf.substr(0, conf.find(':'));
  CHECK_THAT(outcome(conf, version_preset(before)),
             Catch::StartsWith("Unrecognized") && Catch::Contains(name));
  const bool is_modelled = !name.starts_with("throw") && !name.starts_with("expandable");
  CHECK(outcome(conf, version_preset(since)) ==
        (is_modelled ? "ok" : name + " is not modelled; omit it"));
}

TEST_CASE("settings: later releases have more options", "[allocator][settings]") {
  const Settings settings = parse_settings(
      "max_split_size_mb:40, large_segment_size_mb:40,\tper_process_memory_fraction:0.5,"
      "graph_capture_record_stream_reuse:True,pinned_reserve_segment_size_mb:64",
      tolerant());
  CHECK(settings.large_segment_size == 40_MiB);
  CHECK(settings.max_split_size == 40_MiB);
  CHECK(settings.max_non_split_rounding_size == 40_MiB);  // follows the large segment size
  CHECK(settings.per_process_memory_fraction == 0.5);
  CHECK(settings.graph_capture_record_stream_reuse);
  CHECK(parse_settings("max_split_size_mb:20", tolerant()).max_split_size == 20_MiB);
  CHECK(parse_settings("max_split_size_mb:-1", tolerant()).max_split_size.count() >> 20 ==
        std::numeric_limits<std::uint64_t>::max() >> 20);
}

TEST_CASE("settings: a memory fraction may be anything from 0 to 1", "[allocator][settings]") {
  for (const auto& [value, fraction] : {std::pair{"0", 0.0}, std::pair{"1", 1.0}}) {
    const std::string conf = std::string("per_process_memory_fraction:") + value;
    CHECK(parse_settings(conf, tolerant()).per_process_memory_fraction == fraction);
  }
}

TEST_CASE("settings: later releases hardly look at the punctuation", "[allocator][settings]") {
  CHECK(parse_settings("max_split_size_mb,64:expandable_segments[True", tolerant()) ==
        parse_settings("max_split_size_mb:64,expandable_segments:True", tolerant()));
  CHECK(outcome("max_split_size_mb:64;expandable_segments:True", tolerant()) ==
        "Unrecognized key 'True' in CUDA allocator config.");
}

TEST_CASE("settings: '>' starts at the last listed interval in 2.6, after it later",
          "[allocator][settings]") {
  const std::string conf = "roundup_power2_divisions:[256:1,512:2,>:8]";
  CHECK(divisions(conf, strict()).at(9) == 8);
  CHECK(divisions(conf, tolerant()).at(9) == 2);
  CHECK(divisions(conf, tolerant()).at(10) == 8);
  CHECK(divisions("roundup_power2_divisions:[>:8]", tolerant()).at(0) == 0);
}

TEST_CASE("settings: a refusal is told in words for people and in PyTorch's own",
          "[allocator][settings]") {
  const auto told = [](std::string_view conf, const VersionPreset& version) -> std::string {
    try {
      (void)parse_settings(conf, version);
    } catch (const SettingsError& error) {
      return refusal_text(error, version);
    }
    return "ok";
  };
  CHECK(told("max_split_size_mb:x", strict()) ==
        "max_split_size_mb: 'x' is not a number in range (PyTorch 2.6's own message: stoi)");
  CHECK(told("max_split_size_mb:20", strict()) ==
        "CachingAllocator option max_split_size_mb too small, must be > 20 (PyTorch 2.6's own "
        "message)");
  CHECK(told("large_segment_size_mb:40", strict()) ==
        "Unrecognized CachingAllocator option: large_segment_size_mb; known to --torch 2.11 "
        "(PyTorch 2.6's own message)");
}

Settings random_settings(std::mt19937& random, const VersionPreset& version) {
  const auto chance = [&] { return random() % 2 == 0; };
  Settings settings;
  const bool is_later = version.grammar == SettingsGrammar::tolerant;
  settings.large_segment_size = is_since(version, "2.11") && chance() ? 40_MiB : kLargeBuffer;
  settings.max_split_size = chance() ? 1_MiB * (41 + random() % 1000) : kUnlimited;
  settings.max_non_split_rounding_size =
      chance() ? 1_MiB * (41 + random() % 1000) : settings.large_segment_size;
  settings.garbage_collection_threshold =
      chance() ? 1.0 / static_cast<double>(2 + random() % 1000) : 0;
  for (std::uint64_t& entry : settings.roundup_power2_divisions) {
    entry = chance() ? std::uint64_t{1} << random() % 5 : 0;
  }
  settings.expandable_segments = chance();
  settings.release_lock_on_cudamalloc = chance();
  settings.pinned_use_cuda_host_register = chance();
  settings.pinned_use_background_threads = chance();
  settings.pinned_num_register_threads = std::uint64_t{1} << random() % 8;
  if (is_later && chance()) {
    settings.per_process_memory_fraction = 1.0 / static_cast<double>(1 + random() % 1000);
    settings.graph_capture_record_stream_reuse = true;
  }
  return settings;
}

TEST_CASE("settings: what is written reads back the same", "[allocator][settings][property]") {
  std::mt19937 random(20260101);
  for (const VersionPreset& version : version_presets()) {
    CHECK(to_conf(Settings{}).empty());
    for (int i = 0; i < 500; ++i) {
      const Settings settings = random_settings(random, version);
      INFO(to_conf(settings));
      REQUIRE(parse_settings(to_conf(settings), version) == settings);
    }
  }
}

TEST_CASE("settings: the practically unlimited split size is written as -1",
          "[allocator][settings]") {
  for (const VersionPreset& version : version_presets()) {
    const Settings settings = parse_settings("max_split_size_mb:-1", version);
    CHECK(to_conf(settings) == "max_split_size_mb:-1");
    CHECK(parse_settings(to_conf(settings), version) == settings);
  }
}

TEST_CASE("settings: a uniform table and a list are written briefly", "[allocator][settings]") {
  const std::string conf =
      GENERATE("roundup_power2_divisions:8", "roundup_power2_divisions:[256:1]",
               "roundup_power2_divisions:[256:1,512:2,4096:4]");
  CHECK(to_conf(parse_settings(conf, strict())) == conf);
}

}  // namespace
}  // namespace highwater
