#include "workloads/facts/facts.hpp"

#include <algorithm>
#include <stdexcept>

#include <catch2/catch.hpp>

using namespace highwater;
using Catch::Matchers::Contains;

TEST_CASE("facts: every file is JSON and says what it holds", "[facts]") {
  for (const char* const name : {"frameworks.json", "gpus.json", "optimizers.json"}) {
    CHECK(std::ranges::count(embedded_facts(), name, &EmbeddedFile::path) == 1);
  }
  for (const EmbeddedFile& file : embedded_facts()) {
    INFO(file.path);
    CHECK(!facts(file.path).at("about").text().empty());
  }
}

TEST_CASE("facts: a wrong field names the file and its place", "[facts]") {
  CHECK_THROWS_AS(facts("unheard-of.json"), std::out_of_range);
  const JsonField gpus = facts("gpus.json").at("gpus");
  CHECK_THROWS_WITH(gpus.elements().front().at("name").integer(),
                    Contains("workloads/facts/gpus.json: gpus[0].name: expected an integer"));
}

TEST_CASE("facts: the files in a folder", "[facts]") {
  CHECK(facts_in("gpus").empty());
  CHECK(facts_in("nowhere").empty());
}
