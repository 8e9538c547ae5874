// Keys that an answer leaves out: four are named, the others counted.
#include "tools/reports/left_out.hpp"

#include <catch2/catch.hpp>

using namespace highwater;

namespace {

std::vector<LeftOutKey> keys_of(std::initializer_list<const char*> names) {
  std::vector<LeftOutKey> keys;
  for (const char* name : names) {
    keys.push_back({name, MemorySign::more});
  }
  return keys;
}

}  // namespace

TEST_CASE("left out: where nothing was left out, nothing is printed", "[reports]") {
  CHECK(left_out_sentence({}).empty());
}

TEST_CASE("left out: each key says which way it moves memory", "[reports]") {
  CHECK(left_out_sentence({{"a", MemorySign::more}}) ==
        "not in this answer: a (adds memory); the notes at the end say why");
  CHECK(left_out_sentence({{"a", MemorySign::less}, {"b", MemorySign::either}}) ==
        "not in this answer: a (saves memory) and b (may change memory); the notes at the end say "
        "why");
}

TEST_CASE("left out: up to four keys are all named, a fifth is counted", "[reports]") {
  CHECK(key_names(keys_of({"a", "b", "c", "d"})) == "a, b, c and d");
  CHECK(key_names(keys_of({"a", "b", "c", "d", "e"})) == "a, b, c, d and 1 more");
}

TEST_CASE("left out: what adds memory could turn a run that fits, what saves it one that does not",
          "[reports]") {
  const std::vector<LeftOutKey> keys{{"more", MemorySign::more},
                                     {"less", MemorySign::less},
                                     {"either", MemorySign::either},
                                     {"little", MemorySign::little}};
  CHECK(key_names(turning_keys(FitOutcome::fits, keys)) == "more and either");
  CHECK(key_names(turning_keys(FitOutcome::runs_out, keys)) == "less and either");
}

TEST_CASE("left out: a clause is certain only where all keys are", "[reports]") {
  CHECK(without_words(FitOutcome::fits, {{"a", MemorySign::more}}) ==
        "without a, which adds memory");
  CHECK(without_words(FitOutcome::fits, {{"a", MemorySign::more}, {"b", MemorySign::either}}) ==
        "without a and b, which may add memory");
  CHECK(without_words(FitOutcome::runs_out, {{"a", MemorySign::less}, {"b", MemorySign::less}}) ==
        "without a and b, which save memory");
}
