#include "workloads/sources/rules/program_row.hpp"

#include <string>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

using namespace highwater;

TEST_CASE("program row: a default has the releases between which it holds", "[plan][sources]") {
  const boost::json::value content = boost::json::parse(R"({
      "program": "made", "releases": "1 to 3",
      "defaults": [{"key": "optim", "value": "adafactor", "until": "1.9"},
                   {"key": "optim", "value": "adamw", "since": "2"}]})");
  const std::string name = "made.json";
  const Program program = program_of_facts(JsonField(content, "", name, "correct it"), {});
  REQUIRE(program.defaults.size() == 2);
  CHECK((!program.defaults[0].since && program.defaults[0].until == Release{1, 9}));
  CHECK((program.defaults[1].since == Release{2, 0} && !program.defaults[1].until));
}
