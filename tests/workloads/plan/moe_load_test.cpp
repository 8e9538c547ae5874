// How many tokens each expert gets: by hand, and as the recorder's Python spreads them
// (tests/tools/python/examples_test.py, "a busy expert").
#include "workloads/plan/moe_load.hpp"

#include <numeric>

#include <catch2/catch.hpp>

#include "tests/support/temp_dir.hpp"
#include "traces/error.hpp"
#include "workloads/plan/options/option_table.hpp"
#include "workloads/plan/training_plan.hpp"

using namespace highwater;
using Catch::Contains;
using Counts = std::vector<std::int64_t>;

TEST_CASE("moe load: an even router takes experts in turns", "[plan][moe]") {
  CHECK(expert_counts({}, {.tokens = 8, .experts = 4, .top_k = 2}) == Counts{4, 4, 4, 4});
  CHECK(expert_counts({}, {.tokens = 5, .experts = 4, .top_k = 2}) == Counts{3, 3, 2, 2});
}

TEST_CASE("moe load: the busiest expert gets so many times the mean", "[plan][moe]") {
  const Routing routing{.tokens = 8, .experts = 4, .top_k = 2};
  CHECK(expert_counts({.busiest = 2}, routing) == Counts{8, 3, 3, 2});
  // A quarter of the choices for each rank's two experts, three quarters for the first rank's.
  CHECK(expert_shares({.busiest = 1.5}, 4, 2) == std::vector{0.375, 0.375, 0.125, 0.125});
}

TEST_CASE("moe load: zipf's law, by hand", "[plan][moe]") {
  CHECK(expert_shares({.zipf = 1}, 4) == std::vector{1.0, 1 / 2.0, 1 / 3.0, 1 / 4.0});
  // 36 choices in shares of 12, 6, 4, 3 of 25: 17.3; 8.8 of the 19 left; 5.7 of 10; the rest.
  CHECK(expert_counts({.zipf = 1}, {.tokens = 36, .experts = 4, .top_k = 1}) ==
        Counts{17, 9, 6, 4});
  CHECK(expert_counts({.zipf = 0}, {.tokens = 8, .experts = 4, .top_k = 2}) == Counts{4, 4, 4, 4});
  CHECK(expert_counts({.zipf = 2}, {.tokens = 8, .experts = 4, .top_k = 2}) == Counts{8, 5, 2, 1});
}

TEST_CASE("moe load: shares are of all choices, and no expert gets a token twice", "[plan][moe]") {
  const Routing routing{.tokens = 10, .experts = 4, .top_k = 2};
  CHECK(expert_counts({.shares = {0.5, 0.25, 0.25, 0}}, routing) == Counts{10, 5, 5, 0});
  CHECK(expert_counts({.shares = {0, 9, 1, 0}}, routing) == Counts{0, 10, 10, 0});
  CHECK(expert_counts({.shares = {1, 0, 0, 0}}, routing) == Counts{10, 10, 0, 0});
}

TEST_CASE("moe load: all choices are given away", "[plan][moe][property]") {
  for (const std::int64_t tokens : {1, 7, 64, 1001}) {
    for (const std::vector<double>& shares :
         {std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8}, {0, 0, 0, 0, 0, 0, 0, 1}}) {
      const Counts counts =
          expert_counts({.shares = shares}, {.tokens = tokens, .experts = 8, .top_k = 2});
      CHECK(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}) == 2 * tokens);
    }
  }
}

TEST_CASE("moe load: the words of the option", "[plan][moe]") {
  const test::TempDir folder;
  const std::string file = (folder / "shares").string();
  const std::string wrong = (folder / "wrong").string();
  test::write_file(file, "0.5,0.3\n0.2, 0\n");
  test::write_file(wrong, "0.5 -1");
  const Option& option = option_called("moe-load");
  TrainingPlan plan;
  CHECK_FALSE(option.set(plan, file).has_value());
  CHECK(plan.moe_load.shares == std::vector{0.5, 0.3, 0.2, 0.0});
  CHECK(option.text(plan) == file);
  CHECK_FALSE(option.set(plan, "busiest:1.5").has_value());
  CHECK(option.text(plan) == "busiest:1.5");
  CHECK_THAT(option.set(plan, "busiest:0.5").value_or(""), Contains("of 1 or more"));
  CHECK_THAT(option.set(plan, "uneven").value_or(""),
             Contains("even, busiest:X, zipf:S or a file"));
  CHECK_THROWS_WITH(option.set(plan, wrong), Contains("'-1' is not a share"));
}

TEST_CASE("moe load: a list of shares for each group", "[workloads][plan]") {
  const MoeLoad load{.shares = {1, 2, 3, 4, 5, 6}, .file = "shares"};
  CHECK(load_of_group(load, 2, 0).shares == std::vector<double>{1, 2});
  CHECK(load_of_group(load, 2, 2).shares == std::vector<double>{5, 6});
  CHECK(load_of_group(load, 2, 2).file == "shares");
  CHECK(load_of_group(load, 6, 1) == load);  // one list, whatever the group
  const MoeLoad busiest{.busiest = 2};
  CHECK(load_of_group(busiest, 2, 1) == busiest);
}
