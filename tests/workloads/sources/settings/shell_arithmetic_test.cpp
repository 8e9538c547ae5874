// Arithmetic of launch scripts. Expected values are bash's (5.2: echo $((...))), expr's, bc's and
// Python's own.
#include "workloads/sources/settings/shell_arithmetic.hpp"

#include <map>

#include <catch2/catch.hpp>

#include "workloads/sources/settings/launch_line.hpp"

using namespace highwater;

namespace {

using Number = std::optional<std::int64_t>;

Number value(const std::string& expression) {
  static const std::map<std::string, std::string> kVariables{
      {"A", "12"}, {"B", "5"}, {"SUM", "A + B"}, {"SELF", "SELF"}, {"TEXT", "a b"}};
  return arithmetic_value(expression, [](const std::string& name) {
    const auto found = kVariables.find(name);
    return found == kVariables.end() ? std::nullopt : std::optional(found->second);
  });
}

/// The value of an option after the lines of a script.
std::string option_after(const std::string& lines, const std::string& text = "$N") {
  return read_launch_line(lines + "\npython a.py --n " + text, "a.sh")
      .options.text("n")
      .value_or("-");
}

}  // namespace

TEST_CASE("shell arithmetic: operators bind as in bash", "[plan][settings]") {
  CHECK(value("64 / 2 / 4") == 8);
  CHECK(value("2 + 3 * 4 - 10 / 3") == 11);
  CHECK(value("(2 + 3) * 4") == 20);
  CHECK(value("2 ** 3 ** 2") == 512);
  CHECK(value("-7 / 2") == -3);
  CHECK(value("-7 % 3") == -1);
  CHECK(value("1 << 10 | 1") == 1025);
  CHECK(value("1 + 2 << 3") == 24);
  CHECK(value("5 & 3 == 3") == 1);
  CHECK(value("6 ^ 3") == 5);
  CHECK(value("~5 + !0") == -5);
  CHECK(value("A > B ? A / B : 0") == 2);
  CHECK(value("1 || 0 && 0") == 1);
  CHECK(value("A >= 12 && B != 5") == 0);
}

TEST_CASE("shell arithmetic: numbers in other bases, variables in variables", "[plan][settings]") {
  CHECK(value("0x20 + 010 + 2#101") == 45);
  CHECK(value("SUM * 2") == 34);
}

TEST_CASE("shell arithmetic: what is not known stays so", "[plan][settings]") {
  for (const char* expression :
       {"UNKNOWN * 2", "1 / 0", "A %", "(1", "1 2", "", "SELF", "TEXT", "9223372036854775807 + 1",
        "$A", "1 ? UNKNOWN : 2", "2 ** -1", "08"}) {
    CAPTURE(expression);
    CHECK_FALSE(value(expression));
  }
  CHECK(value("0 ? UNKNOWN : 2") == 2);  // bash does not ask for it
  CHECK_FALSE(value(std::string(100'000, '(')));
  CHECK_FALSE(value(std::string(4'000, '-') + "1"));
}

TEST_CASE("shell arithmetic: divisions decide the accumulation of a script", "[plan][settings]") {
  const std::string sizes = "GLOBAL=64; GPUS=2; EACH=4\n";
  CHECK(option_after(sizes + "N=$((GLOBAL / GPUS / EACH))") == "8");
  CHECK(option_after(sizes + "N=$(( $GLOBAL / (${GPUS} * ${EACH:-1}) ))") == "8");
  CHECK(option_after(sizes + "N=$(expr $GLOBAL / $GPUS / $EACH)") == "8");
  CHECK(option_after(sizes + "N=`expr $GPUS \\* $EACH`") == "8");
  CHECK(option_after(sizes + "N=$(echo \"$GLOBAL / ($GPUS * $EACH)\" | bc)") == "8");
  CHECK(option_after(sizes + "N=$(bc <<< \"$GLOBAL/$GPUS/$EACH\")") == "8");
  CHECK(option_after(sizes + "N=$(python3 -c \"print($GLOBAL // $GPUS // $EACH)\")") == "8");
  CHECK(option_after(sizes + "N=$(python -c 'print(int(64 / 8))')") == "8");
  CHECK(option_after(sizes + "let N=GLOBAL/GPUS/EACH") == "8");
  CHECK(option_after(sizes + "let \"N = GLOBAL / GPUS\" 'N /= EACH'") == "8");
  CHECK(option_after(sizes + "((N = GLOBAL / (GPUS * EACH)))") == "8");
  CHECK(option_after(sizes + "N=7\n((N++))") == "8");
  CHECK(option_after(sizes, "$((GLOBAL/GPUS/EACH))") == "8");
}

TEST_CASE("shell arithmetic: a fraction, a command or an unknown variable is no number",
          "[plan][settings]") {
  CHECK(option_after("N=$(echo \"scale=2; 1/3\" | bc)") == "$(echo \"scale=2; 1/3\" | bc)");
  CHECK(option_after("N=$(python -c 'print(8 / 2)')") == "$(python -c 'print(8 / 2)')");
  CHECK(option_after("N=$((OTHER / 2))") == "$((OTHER / 2))");
  CHECK(option_after("((N = OTHER / 2))") == "$((N = OTHER / 2))");
  CHECK(option_after("N=$(nproc)") == "$(nproc)");
}

TEST_CASE("shell arithmetic: a test decides its branch", "[plan][settings]") {
  CHECK(option_after("G=8\nif ((G > 4)); then N=1; else N=2; fi") == "1");
  CHECK(option_after("G=2\nif (( G > 4 )); then N=1; else N=2; fi") == "2");
}
