// Patterns of names: * and ?, or part of the name.
#include "tools/text/name_pattern.hpp"

#include <random>
#include <string>

#include <catch2/catch.hpp>

using namespace highwater;

namespace {

/// The definition of * and ?, without regard to time.
bool is_match(std::string_view name, std::string_view pattern) {
  if (pattern.empty()) {
    return name.empty();
  }
  if (pattern.front() == '*') {
    return is_match(name, pattern.substr(1)) ||
           (!name.empty() && is_match(name.substr(1), pattern));
  }
  return !name.empty() && (pattern.front() == '?' || pattern.front() == name.front()) &&
         is_match(name.substr(1), pattern.substr(1));
}

std::string drawn(std::mt19937& random, std::string_view letters) {
  std::string text(random() % 8, ' ');
  for (char& letter : text) {
    letter = letters[random() % letters.size()];
  }
  return text;
}

}  // namespace

TEST_CASE("name_pattern: shell patterns are those of the definition", "[text]") {
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    const std::string name = drawn(random, "ab");
    const std::string pattern = drawn(random, "ab*?");
    if (pattern.find_first_of("*?") != std::string::npos) {  // others are parts of the name
      CAPTURE(name, pattern);
      CHECK(matches_any(name, pattern) == is_match(name, pattern));
    }
  }
  CHECK(matches_any("gpt2-fp32", "llama,fp32"));
  CHECK(!matches_any("gpt2-fp32", "llama,fp16"));
}

TEST_CASE("name_pattern: many stars take no time", "[text]") {
  CHECK(!matches_any(std::string(200, 'a'), std::string(100, '*') + "b"));
  CHECK(!matches_any(std::string(200, 'a'), "*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b"));
}
