// Rules: sizes are read and printed exactly as the design's section 5 says.
#include "traces/units.hpp"

#include <catch2/catch.hpp>

using namespace highwater;
using namespace highwater::literals;

TEST_CASE("units: sizes are read in IEC and decimal units", "[traces][units]") {
  const auto [text, bytes] = GENERATE(table<std::string, std::uint64_t>({
      {"0", 0},
      {"512", 512},
      {"512B", 512},
      {"512M", 536870912},
      {"80GiB", 85899345920},
      {"80gib", 85899345920},
      {"80 GiB", 85899345920},
      {"80GB", 80000000000},
      {"1.5G", 1610612736},
      {"0.5k", 512},
      {"2T", 2199023255552},
      {"3PiB", 3377699720527872},
      {"10EiB", 11529215046068469760ULL},
      {"18446744073709551615", 18446744073709551615ULL},
  }));
  CAPTURE(text);
  REQUIRE(parse_bytes(text) == Bytes{bytes});
}

TEST_CASE("units: what is no size is refused", "[traces][units]") {
  const auto text = GENERATE(as<std::string>{}, "", "GiB", "-1", "1 2", "80 Gigs", "1e3", "nan",
                             "99999999999T", "16EiB", "0x10", "18446744073709551616");
  CAPTURE(text);
  REQUIRE_FALSE(parse_bytes(text));
}

TEST_CASE("units: sizes are printed in IEC units with two decimals", "[traces][units]") {
  CHECK(to_iec(0_B) == "0 B");
  CHECK(to_iec(1023_B) == "1023 B");
  CHECK(to_iec(1_KiB) == "1.00 KiB");
  CHECK(to_iec(Bytes{1048575}) == "1.00 MiB");
  CHECK(to_iec(20_MiB) == "20.00 MiB");
  CHECK(to_iec(80_GiB) == "80.00 GiB");
  CHECK(to_iec_signed(-512) == "-512 B");
  CHECK(to_iec_signed(2097152) == "+2.00 MiB");
}

TEST_CASE("units: rounding reaches the next multiple and keeps multiples", "[traces][units]") {
  CHECK(round_up(1_B, 512_B) == 512_B);
  CHECK(round_up(512_B, 512_B) == 512_B);
  CHECK(round_up(513_B, 512_B) == 1_KiB);
  CHECK(round_down(1023_B, 512_B) == 512_B);
}
