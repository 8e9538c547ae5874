// Rules: a line that says nothing sensible is named by line, column, problem and remedy.
#include <catch2/catch.hpp>

#include "tests/support/format_io.hpp"

using namespace highwater;
using namespace highwater::test;

TEST_CASE("text_trace: an error names the place and the remedy", "[traces][text]") {
  const auto [text, message] = GENERATE(table<std::string, std::string>({
      {"a 0 x 0", "line 1, column 5: SIZE expected; write 'a ID SIZE STREAM [CATEGORY] [@STACK]'"},
      {"a 0 1", "line 1, column 6: STREAM expected; write 'a ID SIZE STREAM [CATEGORY] [@STACK]'"},
      {"a", "line 1, column 2: ID expected; write 'a ID SIZE STREAM [CATEGORY] [@STACK]'"},
      {"a 0 -1 0", "line 1, column 5: SIZE expected; write 'a ID SIZE STREAM [CATEGORY] [@STACK]'"},
      {"a 0 1 0 glue",
       "line 1, column 9: a category such as 'activation', or @STACK, expected; write 'a ID SIZE "
       "STREAM [CATEGORY] [@STACK]'"},
      {"c\nf 7", "line 2, column 3: allocation '7' was never made; its 'a' line must come first"},
      {"r 7 0", "line 1, column 3: allocation '7' was never made; its 'a' line must come first"},
      {"a 7 1 0\n\n# x\na 7 1 0",
       "line 4, column 3: allocation '7' exists already; each allocation needs an ID of its own, "
       "also after it was freed"},
      {"a 0 1 0\nr 0", "line 2, column 4: STREAM expected; write 'r ID STREAM [@STACK]'"},
      {"e all", "line 1, column 3: STREAM expected; write 'e STREAM [@STACK]'"},
      {"c now", "line 1, column 3: the end of the line or @STACK expected; write 'c [@STACK]'"},
      {"c @3",
       "line 1, column 3: stack '3' is not defined; define it on an earlier line, 'stack K "
       "...'"},
      {"pool_begin",
       "line 1, column 11: POOL, K or A,B, expected; write 'pool_begin POOL "
       "[@STACK]'"},
      {"pool_end 1,",
       "line 1, column 10: POOL, K or A,B, expected; write 'pool_end POOL "
       "[@STACK]'"},
      {"step one", "line 1, column 6: N expected; write 'step N'"},
      {"device 80GiB", "line 1, column 8: BYTES expected; write 'device BYTES'"},
      {"fraction nan", "line 1, column 10: X, a number from 0 to 1, expected; write 'fraction X'"},
      {"addr lowest", "line 1, column 6: the word 'reuse' expected; write 'addr reuse'"},
      {"c\nconf x",
       "line 2, column 1: the header line 'conf' stands after an operation or marker; move it to "
       "the top; the settings of a running program change by setconf"},
      {"conf x\nconf x", "line 2, column 1: a second line 'conf'; leave one of them"},
      {"malloc 1",
       "line 1, column 1: 'malloc' is no item of a trace; a line starts with a, f, r, e, E, c, p, "
       "pool_begin, conf, step, ..."},
      {"frame 0 1 file",
       "line 1, column 11: FILE<TAB>FUNCTION expected; write 'frame K LINE "
       "FILE<TAB>FUNCTION'"},
      {"stack 0 4",
       "line 1, column 9: frame '4' is not defined; define it on an earlier line, "
       "'frame K ...'"},
      {"stack 0\nstack 0", "line 2, column 7: stack 0 is defined already; use another number"},
  }));
  CAPTURE(text);
  CHECK(input_error([t = text] { parse_text(t); }) == "t.trace: " + message);
}

TEST_CASE("text_trace: a file without any item is refused", "[traces][text]") {
  const auto text = GENERATE(as<std::string>{}, "", "\n", "# only a comment\n");
  CHECK(input_error([&] { parse_text(text); }) ==
        "t.trace: holds no line of a trace; check the file");
}

TEST_CASE("text_trace: messages quote neither control characters nor whole files",
          "[traces][text]") {
  const std::string message =
      input_error([] { parse_text("\x1b[31m" + std::string(100, 'x') + "\n"); });
  CHECK_THAT(message, Catch::Contains("'?[31m" + std::string(35, 'x') + "...'"));
}

TEST_CASE("text_trace: an endless line ends the reading", "[traces][text]") {
  const std::string text(std::size_t{40} << 20U, 'x');
  CHECK_THAT(input_error([&] { parse_text(text); }),
             Catch::Contains("line 1: is longer than 16 MiB"));
}
