// Releases as numbers: what is read, what is refused, how they compare.
#include "traces/release.hpp"

#include <catch2/catch.hpp>

using namespace highwater;

TEST_CASE("release: major and minor are read, whatever follows the minor", "[traces][release]") {
  for (const char* const text : {"2.6", "2.6.0", "2.6.0+cu124", "2.6+debian", "2.6.0a0+git1234"}) {
    CAPTURE(text);
    CHECK(parse_release(text) == Release{2, 6});
  }
}

TEST_CASE("release: a text without two numbers is none", "[traces][release]") {
  for (const char* const text : {"", "2", "2.", ".6", "new", "2.x", "2.6rc1", "-2.6", "2,6"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_release(text).has_value());
  }
  CHECK(release_of("new") == Release{});
}

TEST_CASE("release: a major alone compares as its first minor", "[traces][release]") {
  CHECK(release_of("3") == Release{3, 0});
  CHECK(release_of("2.") == Release{});
}

TEST_CASE("release: they compare as numbers and print as read", "[traces][release]") {
  CHECK(release_of("2.10") > release_of("2.9"));
  CHECK(release_of("3.0") > release_of("2.15"));
  CHECK(to_string(release_of("2.10.1")) == "2.10");
}
