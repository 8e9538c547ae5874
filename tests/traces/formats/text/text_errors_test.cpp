// Rules: a line that says nothing sensible is named by line, column, problem and remedy.
#include <catch2/catch.hpp>

#include "tests/support/format_io.hpp"
#include "traces/formats/text/allocation_names.hpp"

using namespace highwater;
using namespace highwater::test;

TEST_CASE("text_trace: an error names the place and the remedy", "[traces][text]") {
  const auto [text, message] = GENERATE(table<std::string, std::string>({
      {"a 0 x 0", "line 1, column 5: expected SIZE; write 'a ID SIZE STREAM [CATEGORY] [@STACK]'"},
      {"a 0 1", "line 1, column 6: expected STREAM; write 'a ID SIZE STREAM [CATEGORY] [@STACK]'"},
      {"a", "line 1, column 2: expected ID; write 'a ID SIZE STREAM [CATEGORY] [@STACK]'"},
      {"a 0 -1 0", "line 1, column 5: expected SIZE; write 'a ID SIZE STREAM [CATEGORY] [@STACK]'"},
      {"a 0 1 0 glue",
       "line 1, column 9: expected a category such as 'activation', or @STACK; write 'a ID SIZE "
       "STREAM [CATEGORY] [@STACK]'"},
      {"c\nf 7", "line 2, column 3: unknown allocation '7'; put its 'a' line before this one"},
      {"r 7 0", "line 1, column 3: unknown allocation '7'; put its 'a' line before this one"},
      {"a 7 1 0\n\n# x\na 7 1 0",
       "line 4, column 3: allocation '7' already exists; give each allocation its own ID, even "
       "after an earlier one was freed"},
      {"a 0 1 0\nr 0", "line 2, column 4: expected STREAM; write 'r ID STREAM [@STACK]'"},
      {"e all", "line 1, column 3: expected STREAM; write 'e STREAM [@STACK]'"},
      {"c now", "line 1, column 3: expected the end of the line or @STACK; write 'c [@STACK]'"},
      {"c @3",
       "line 1, column 3: stack '3' is not defined; define it on an earlier line, 'stack K "
       "...'"},
      {"pool_begin",
       "line 1, column 11: expected POOL, either K or A,B; write 'pool_begin POOL "
       "[no_split] [use_on_oom] [capture] [@STACK]'"},
      {"pool_end 1,",
       "line 1, column 10: expected POOL, either K or A,B; write 'pool_end POOL "
       "[@STACK]'"},
      {"step one", "line 1, column 6: expected N; write 'step N'"},
      {"device 80GiB", "line 1, column 8: expected BYTES; write 'device BYTES'"},
      {"limit 80GiB",
       "line 1, column 7: expected BYTES, or the word 'none'; write 'limit BYTES|none [@STACK]'"},
      {"fraction nan", "line 1, column 10: expected X, a number from 0 to 1; write 'fraction X'"},
      {"torch new", "line 1, column 7: expected RELEASE, e.g. 2.15; write 'torch RELEASE'"},
      {"addr lowest", "line 1, column 6: expected the word 'reuse'; write 'addr reuse'"},
      {"c\nconf x",
       "line 2, column 1: the header line 'conf' follows an operation or marker; move it to "
       "the top (setconf changes the settings of a running program)"},
      {"conf x\nconf x", "line 2, column 1: a second 'conf' line; keep only one of them"},
      {"malloc 1",
       "line 1, column 1: 'malloc' does not start a line of a trace; start each line with a, f, r, "
       "e, E, c, p, "
       "pool_begin, conf, step, ..."},
      {"frame 0 1 file",
       "line 1, column 11: expected FILE<TAB>FUNCTION; write 'frame K LINE "
       "FILE<TAB>FUNCTION'"},
      {"stack 0 4",
       "line 1, column 9: frame '4' is not defined; define it on an earlier line, "
       "'frame K ...'"},
      {"stack 0\nstack 0", "line 2, column 7: stack 0 is already defined; use another number"},
  }));
  CAPTURE(text);
  CHECK(input_error([t = text] { parse_text(t); }) == "t.trace: " + message);
}

TEST_CASE("text_trace: a file without any item is refused", "[traces][text]") {
  const auto text = GENERATE(as<std::string>{}, "", "\n", "# only a comment\n");
  CHECK(input_error([&] { parse_text(text); }) ==
        "t.trace: contains no trace; check the file name");
}

TEST_CASE("text_trace: messages quote neither control characters nor whole files",
          "[traces][text]") {
  const std::string message =
      input_error([] { parse_text("\x1b[31m" + std::string(100, 'x') + "\n"); });
  CHECK_THAT(message, Catch::Contains("'?[31m" + std::string(35, 'x') + "...'"));
}

TEST_CASE("text_trace: an endless line ends the reading", "[traces][text]") {
  const std::string text(std::size_t{40} << 20U, 'x');
  CHECK_THAT(input_error([&] { parse_text(text); }), Catch::Contains("line 1: longer than 16 MiB"));
}

TEST_CASE("text: millions of lines that describe next to nothing are refused", "[traces][text]") {
  std::string text = "a 0 512 0\n";
  for (int i = 0; i < 4300000; ++i) {
    text += "E\n";
  }
  CHECK_THAT(input_error([&] { parse_text(text); }),
             Catch::Contains("take more memory than those of any real trace"));
}

TEST_CASE("text: distinct strings that outgrow their lines are refused", "[traces][text]") {
  std::string text;
  for (int i = 0; i < 1200000; ++i) {
    text += "op " + std::to_string(i) + "\n";
  }
  CHECK_THAT(input_error([&] { parse_text(text); }), Catch::Contains("take more memory"));
}

TEST_CASE("text: allocations named by words take no more than their lines may", "[traces][text]") {
  std::string text;
  for (int i = 0; i < 400000; ++i) {
    const std::string name = "tensor_" + std::to_string(i);
    text += "a " + name + " 1048576 0\nf " + name + "\n";
  }
  CHECK(parse_text(text).allocation_names.size() == 400000);
}

TEST_CASE("text: names of allocations are kept once", "[traces][text]") {
  constexpr std::uint64_t kNames = 100000;
  AllocationNames names;
  for (std::uint64_t i = 0; i < kNames; ++i) {
    names.add("t" + std::to_string(i));
  }
  CHECK(names.find("t77777") == AllocationId{std::uint32_t{77777}});
  CHECK_FALSE(names.find("t"));
  CHECK(names.memory() < kNames * (sizeof(std::string) + 4 * sizeof(AllocationId)));
  CHECK(names.take_names().at(77777) == "t77777");
}

TEST_CASE("text_trace: empty lines count, however many are passed over", "[traces][text]") {
  // Across the blocks of a megabyte in which lines are read.
  const std::string empty(std::size_t{3} << 20U, '\n');
  CHECK_THAT(input_error([&] { parse_text("c\n" + empty + "\r\n \n" + empty + "a 0 x 0"); }),
             Catch::Contains("line 6291460, column 5"));
  CHECK(parse_text(empty + "c\n" + empty).events.size() == 1);
}
