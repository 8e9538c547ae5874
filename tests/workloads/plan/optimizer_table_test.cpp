// Optimizers as data: each kind has one row, no name means two optimizers, libraries as in the
// scripts.
#include "workloads/plan/optimizer_table.hpp"

#include <algorithm>
#include <set>

#include <catch2/catch.hpp>

#include "workloads/facts/facts.hpp"

using namespace highwater;

namespace {

/// The enumerators are numbered from 0 to the last.
constexpr std::size_t kKinds = static_cast<std::size_t>(OptimizerKind::adamw_cpu_offload) + 1;

/// The first part of the class that a script imports.
std::string_view package_of(const OptimizerRow& row) {
  return row.script_class.substr(0, row.script_class.find('.'));
}

OptimizerLibrary library_of_package(std::string_view package) {
  return package.empty()             ? OptimizerLibrary::none
         : package == "torch"        ? OptimizerLibrary::torch
         : package == "bitsandbytes" ? OptimizerLibrary::bitsandbytes
                                     : OptimizerLibrary::package;
}

}  // namespace

TEST_CASE("optimizers: every kind has one row, every row a kind of its own", "[plan][facts]") {
  CHECK(optimizer_table().size() == kKinds);
  for (std::size_t i = 0; i < kKinds; ++i) {
    const auto kind = static_cast<OptimizerKind>(i);
    INFO("kind " << i);
    REQUIRE(std::ranges::count(optimizer_table(), kind, &OptimizerRow::kind) == 1);
    REQUIRE(find_optimizer(word_of(kind)) != nullptr);
    CHECK(find_optimizer(word_of(kind))->kind == kind);
  }
  CHECK(find_optimizer("paged-adamw-8bit")->kind == OptimizerKind::paged_adamw_8bit);
  CHECK(find_optimizer("adam-8bit")->kind == OptimizerKind::adamw_8bit);
  CHECK(find_optimizer("adamw_8bit") == nullptr);
}

TEST_CASE("optimizers: a name means one optimizer", "[plan][facts]") {
  std::set<std::string_view> words;
  std::set<std::string_view> classes;
  std::set<std::string_view> trainer;
  std::set<std::string_view> torchtune;
  for (const std::string_view word : optimizer_words()) {
    CHECK(words.insert(word).second);
  }
  for (const OptimizerRow& row : optimizer_table()) {
    INFO(row.word);
    for (const OptimizerAlias& alias : row.aliases) {
      CHECK(words.insert(alias.text).second);
    }
    for (const std::string_view name : row.classes) {
      CHECK(classes.insert(name).second);
    }
    for (const TrainerOptimizer& each : row.trainer) {
      CHECK(trainer.insert(each.name).second);
    }
    for (const std::string_view name : row.torchtune) {
      CHECK(torchtune.insert(name).second);
    }
  }
  for (const UnmodelledOptimizer& each : unmodelled_optimizers()) {
    INFO(each.name);
    CHECK(words.insert(each.name).second);
    CHECK((each.nearest.empty() || find_optimizer(each.nearest) != nullptr));
  }
}

TEST_CASE("optimizers: the library is that of the class in scripts", "[plan][facts]") {
  for (const OptimizerRow& row : optimizer_table()) {
    INFO(row.word);
    CHECK(library_of(row.kind) == library_of_package(package_of(row)));
  }
}

TEST_CASE("optimizers: rows have no fields that nobody reads", "[plan][facts]") {
  const std::set<std::string_view> known{"word",    "synonyms", "aliases",   "aliases_with",
                                         "classes", "trainer",  "torchtune", "script"};
  for (const JsonField& row : facts("optimizers.json").at("optimizers").elements()) {
    for (const auto& [name, value] : row.object()) {
      INFO(row.path() << "." << std::string_view(name));
      CHECK(known.contains(name));
    }
  }
}
