// Rows of a JSON object: what is written, what the schema says, and what tables show follow from
// one list.
#include "tools/json/members.hpp"

#include <catch2/catch.hpp>

#include "tools/json/indented.hpp"

namespace highwater {
namespace {

struct Point {
  Bytes size;
  std::optional<double> share;
};

struct Curve2 {
  Point first;
  std::vector<Point> others;
  std::optional<std::string> name;
  JsonMap<int> counts;
  std::optional<Point> last;
};

std::string_view kind_of(const Curve2& /*unused*/) {
  return "curve";
}

}  // namespace

template <>
struct Members<Point> {
  static constexpr auto kRows =
      std::to_array({member<&Point::size>("size_bytes", "how large it is", "size"),
                     member<&Point::share>("share", "of all", "share")});
};

template <>
struct Members<Curve2> {
  static constexpr auto kRows =
      std::to_array({member<kind_of>("kind", "which"), members_of<&Curve2::first>(),
                     member<&Curve2::first>("first", "the first", "first"),
                     member<&Curve2::others>("others", "the others"),
                     member_if_known<&Curve2::name>("name", "if it has one", "name"),
                     member<&Curve2::counts>("counts", "by name"),
                     member<&Curve2::last>("last", "null: there is none")});
};

namespace {

Curve2 curve() {
  return {{Bytes{1}, 0.5}, {{Bytes{2}, std::nullopt}}, std::nullopt, {{{"a", 1}, {"b", 2}}}, {}};
}

TEST_CASE("members: an object has a key for each row, in their order") {
  CHECK(boost::json::serialize(object_json(curve())) ==
        R"({"kind":"curve","size_bytes":1,"share":5E-1,"first":{"size_bytes":1,"share":5E-1},)"
        R"("others":[{"size_bytes":2,"share":null}],"counts":{"a":1,"b":2},"last":null})");
}

TEST_CASE("members: a key that is left out comes with its value") {
  Curve2 named = curve();
  named.name = "x";
  named.last = Point{Bytes{3}, 1.0};
  const boost::json::object object = object_json(named);
  CHECK(object.at("name") == "x");
  CHECK(object.at("last").at("size_bytes") == 3);
}

TEST_CASE("members: the schema has types, descriptions and what is required") {
  const boost::json::object schema = object_schema<Curve2>();
  const boost::json::object& properties = schema.at("properties").as_object();
  CHECK(boost::json::serialize(schema.at("required")) ==
        R"(["kind","size_bytes","share","first","others","counts","last"])");
  CHECK(boost::json::serialize(properties.at("size_bytes")) ==
        R"({"type":"integer","description":"how large it is"})");
  CHECK(boost::json::serialize(properties.at("share").at("type")) == R"(["number","null"])");
  CHECK(properties.at("name").at("type") == "string");
  CHECK(properties.at("others").at("items").at("type") == "object");
  CHECK(properties.at("counts").at("additionalProperties").at("type") == "integer");
  CHECK(boost::json::serialize(properties.at("last").at("type")) == R"(["object","null"])");
}

TEST_CASE("members: tables show the scalars that have a label, behind that of their owner") {
  MetricList list;
  add_metrics(curve(), {}, list);
  std::vector<std::pair<std::string, std::string>> found;
  for (const Metric& metric : list.metrics) {
    found.emplace_back(metric.key, metric.label);
  }
  CHECK(found ==
        std::vector<std::pair<std::string, std::string>>{{"kind", ""},
                                                         {"size_bytes", "size"},
                                                         {"share", "share"},
                                                         {"first.size_bytes", "first size"},
                                                         {"first.share", "first share"}});
}

TEST_CASE("members: the schema of an answer names its version and the command") {
  const boost::json::object schema = answer_schema<Point>("draw", "highwater.draw/1");
  CHECK(schema.at("$id") == "highwater.draw/1");
  CHECK(schema.at("title") == "What `highwater draw --format json` prints");
  CHECK(boost::json::serialize(schema.at("required")) == R"(["schema","size_bytes","share"])");
}

TEST_CASE("indented: a line for each member and element; what is empty stays on its line") {
  CHECK(indented(boost::json::parse(R"({"a":[1,{"b":null}],"c":[],"d":{}})")) ==
        "{\n \"a\": [\n  1,\n  {\n   \"b\": null\n  }\n ],\n \"c\": [],\n \"d\": {}\n}\n");
}

}  // namespace
}  // namespace highwater
