// "Did you mean": how far words are apart, and that a long one costs nothing.
#include "traces/edit_distance.hpp"

#include <catch2/catch.hpp>

using namespace highwater;

TEST_CASE("edit_distance: insertions, removals, replacements and swaps", "[traces]") {
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "abc") == 0);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("ful", "full") == 1);
  CHECK(edit_distance("gtp2", "gpt2") == 1);
}

TEST_CASE("nearest_word: a near word, and none that is much longer or shorter", "[traces]") {
  CHECK(nearest_word("bach", {"batch", "seq"}) == "batch");
  CHECK(nearest_word("x", {"batch", "seq"}) == std::nullopt);
  CHECK(nearest_word("gradient_checkpointng", {"gradient_checkpointing"}) ==
        "gradient_checkpointing");
}

TEST_CASE("edit_distance: what is longer than any word is as far as it is long", "[traces]") {
  const std::string long_word(1 << 20, 'a');
  CHECK(edit_distance(long_word, std::string(1 << 20, 'b')) == long_word.size());
  CHECK(nearest_word(long_word, {"batch"}) == std::nullopt);
}
