// The files of workloads/facts/programs as a whole: each row has an effect, and each reader and
// file is used.
#include <algorithm>
#include <map>
#include <set>
#include <span>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "workloads/facts/facts.hpp"
#include "workloads/sources/programs/program.hpp"

using namespace highwater;

TEST_CASE("programs: every row decides about a key, and about its own key", "[plan][programs]") {
  for (const Program* const program : programs()) {
    for (const KeyRule& rule : program->keys.rules()) {
      CAPTURE(program->name, rule.key);
      const bool is_pattern = rule.key.find('*') != std::string_view::npos;
      const KeyRule* const found = program->keys.find(rule.key);
      REQUIRE(found != nullptr);
      CHECK((is_pattern || common_key(found->key) == common_key(rule.key)));
    }
    CHECK(program->keys.find("no such key") == nullptr);
  }
}

TEST_CASE("programs: each reader is one that the facts name", "[plan][programs][facts]") {
  std::set<ReadKey> named;
  std::map<ReadKey, std::string_view> readers;
  for (const auto& all : {programs(), launchers()}) {
    for (const Program* const program : all) {
      for (const KeyRule& rule : program->keys.rules()) {
        named.insert(rule.read);
      }
      for (const std::span<const NamedReader> table : program->readers) {
        for (const NamedReader& reader : table) {
          readers.emplace(reader.read, reader.name);
        }
      }
    }
  }
  CHECK(readers.size() > 200);
  for (const auto& [read, name] : readers) {
    INFO(name);
    CHECK(named.contains(read));
  }
}

TEST_CASE("programs: each file of facts is a program or part of one", "[plan][programs][facts]") {
  std::set<std::string_view> names;
  std::size_t included = 0;
  for (const std::string_view path : facts_in("programs")) {
    const JsonField file = facts(path);
    INFO(path);
    CHECK(!file.at("about").text().empty());
    if (file.find("program")) {
      CHECK(!file.at("releases").text().empty());
    } else {
      names.insert(path);
    }
  }
  for (const std::string_view part : names) {
    included += static_cast<std::size_t>(
        std::ranges::any_of(facts_in("programs"), [&](std::string_view path) {
          const auto others = facts(path).views("includes");
          return std::ranges::any_of(others, [&](std::string_view other) {
            return part == fmt::format("programs/{}.json", other);
          });
        }));
  }
  CHECK(included == names.size());
  CHECK(facts_in("programs").size() - names.size() == programs().size() + launchers().size());
}
