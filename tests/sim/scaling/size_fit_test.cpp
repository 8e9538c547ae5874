// Formulas of sizes: what gives the recorded sizes exactly, what is only determined, what is
// guessed.
//
// The sizes of kernels' workspaces were recorded on the fake H100 with PyTorch 2.15 (GPT-2, 256
// channels, vocabulary 50257); the formulas are those of ATen/native/cuda/Embedding.cu and
// Reduce.cuh.
#include "sim/scaling/size_fit.hpp"

#include <catch2/catch.hpp>

#include "sim/scaling/size_at.hpp"

using namespace highwater;

namespace {

/// batch and seq.
const std::vector<Values> kSquare{{2, 512}, {4, 512}, {2, 1024}, {4, 1024}};
const std::vector<Values> kThreeLengths{{2, 512}, {4, 512}, {2, 1024}, {4, 1536}};

SizeSamples samples(const std::vector<std::uint64_t>& sizes) {
  SizeSamples result;
  for (const std::uint64_t size : sizes) {
    result.push_back(size == 0 ? std::nullopt : std::optional(Bytes{size}));
  }
  return result;
}

SizeFormula fit(const std::vector<Values>& points, const std::vector<std::uint64_t>& sizes) {
  return SizeFitter(points).fit(samples(sizes));
}

template <class Size>
std::vector<std::uint64_t> sizes_of(const std::vector<Values>& points, Size size) {
  std::vector<std::uint64_t> sizes;
  for (const Values& point : points) {
    sizes.push_back(size(point[0], point[1]));
  }
  return sizes;
}

std::uint64_t at(const SizeFormula& formula, const Values& values) {
  const auto size = size_at(formula, values);
  REQUIRE(size);
  return size->bytes.count();
}

}  // namespace

TEST_CASE("size fit: products of the integers", "[sim][scaling]") {
  using Size = std::uint64_t (*)(std::uint64_t, std::uint64_t);
  const auto size = GENERATE(
      as<Size>{}, [](auto, auto) { return std::uint64_t{786432}; },
      [](auto b, auto s) { return b * s * 1024; }, [](auto, auto s) { return s * s; },  // a mask
      [](auto b, auto s) { return 16 * b * s * s; },                                    // scores
      [](auto b, auto) { return 4 * b * b; },  // contrastive logits
      [](auto b, auto s) { return b * s * 3 / 8; });
  const SizeFormula formula = fit(kSquare, sizes_of(kSquare, size));
  CHECK(formula.basis == FormulaBasis::confirmed);
  CHECK(formula.terms.size() == 1);
  CHECK(at(formula, {64, 4096}) == size(64, 4096));
}

TEST_CASE("size fit: sums, as of shifted labels and concatenated tokens", "[sim][scaling]") {
  using Size = std::uint64_t (*)(std::uint64_t, std::uint64_t);
  const auto size = GENERATE(
      as<Size>{}, [](auto b, auto s) { return b * (s - 1) * 100514; },
      [](auto b, auto s) { return b * (s + 1) * 768; },
      [](auto b, auto s) { return 8 * b * s + 4096; });
  const SizeFormula formula = fit(kThreeLengths, sizes_of(kThreeLengths, size));
  CHECK(formula.basis == FormulaBasis::confirmed);
  CHECK(formula.terms.size() == 2);
  CHECK(at(formula, {3, 77}) == size(3, 77));
}

TEST_CASE("size fit: patches of pictures, and the token of the class", "[sim][scaling]") {
  const auto size = [](std::uint64_t b, std::uint64_t s) { return b * (s * s / 256 + 1) * 4; };
  const std::vector<Values> points{{4, 128}, {8, 128}, {4, 256}, {8, 384}};
  const SizeFormula formula = fit(points, sizes_of(points, size));
  CHECK(formula.basis == FormulaBasis::confirmed);
  CHECK(at(formula, {8, 1024}) == size(8, 1024));
}

TEST_CASE("size fit: two lengths do not tell a line from a square", "[sim][scaling]") {
  const auto size = [](std::uint64_t b, std::uint64_t s) { return b * (s + 1) * 768; };
  CHECK(fit(kSquare, sizes_of(kSquare, size)).basis == FormulaBasis::determined);
}

TEST_CASE("size fit: a request of one recording says nothing of what it grows with",
          "[sim][scaling]") {
  const SizeFormula formula = fit(kSquare, {0, 0, 0, 25165824});
  CHECK(formula.basis == FormulaBasis::determined);
  CHECK(at(formula, {4, 1024}) == 25165824);
  CHECK(formula.largest_recorded == Bytes{25165824});
}

TEST_CASE("size fit: two recordings of one length leave open what the length does",
          "[sim][scaling]") {
  const SizeFormula formula = fit(kSquare, {0, 0, 2 * 4096, 4 * 4096});
  CHECK(formula.basis == FormulaBasis::determined);
}

TEST_CASE("size fit: as many recordings as terms confirm nothing", "[sim][scaling]") {
  const std::vector<Values> points{{1}, {2}};
  const SizeFormula formula = fit(points, {1000, 1100});
  CHECK(formula.basis == FormulaBasis::determined);
}

TEST_CASE("size fit: multiples that are rounded down", "[sim][scaling]") {
  // Partial segments of the embedding's gradient: n + n / 10 of 1024 bytes.
  const std::vector<Values> points{{4, 1024}, {6, 1024}, {16, 1024}, {16, 512}};
  const SizeFormula formula = fit(points, {4505 * 1024, 6758 * 1024, 18022 * 1024, 9011 * 1024});
  CHECK(formula.basis == FormulaBasis::confirmed);
  CHECK(at(formula, {8, 1000}) == 8800 * 1024);
  CHECK(at(formula, {5, 777}) == (3885 + 388) * 1024);
}

TEST_CASE("size fit: multiples that are rounded up", "[sim][scaling]") {
  const auto size = [](std::uint64_t b, std::uint64_t s) { return 64 * b * ((s + 127) / 128); };
  const std::vector<Values> points{{2, 2304}, {4, 2305}, {2, 4096}, {6, 7937}};
  const SizeFormula formula = fit(points, sizes_of(points, size));
  CHECK(at(formula, {3, 7000}) == size(3, 7000));
}

TEST_CASE("size fit: a size that saturates", "[sim][scaling]") {
  // The staging buffer of a sum over tokens: 132 multiprocessors bound it.
  const std::vector<Values> points{{4, 1024}, {6, 1024}, {16, 1024}, {64, 1024}, {128, 1024}};
  const SizeFormula formula = fit(points, {25165824, 37748736, 100663296, 138412032, 138412032});
  CHECK(formula.basis == FormulaBasis::confirmed);
  CHECK(at(formula, {8, 1024}) == 50331648);
  CHECK(at(formula, {500, 1024}) == 138412032);
}

TEST_CASE("size fit: a tile of shifted labels, of which there are 4096 at most", "[sim][scaling]") {
  // TRL 1.16 (chunked_logprob.py) with 8192 words, recorded at these five batches and lengths.
  const std::vector<Values> points{{2, 256}, {4, 256}, {2, 512}, {4, 768}, {8, 768}};
  const SizeFormula formula =
      fit(points, {65536 * 510, 65536 * 1020, 65536 * 1022, 65536 * 3068, 65536 * 4096});
  CHECK(formula.basis == FormulaBasis::determined);
  CHECK(at(formula, {3, 1024}) == 65536 * 3069);
  CHECK(at(formula, {64, 512}) == 65536 * 4096);
}

TEST_CASE("size fit: of sums a fraction is likelier than what is taken away", "[sim][scaling]") {
  // Patches of a picture and the token of its class, at two sides: a line fits as well.
  const auto size = [](std::uint64_t b, std::uint64_t s) { return 384 * b * (s * s / 256 + 1); };
  const std::vector<Values> points{{4, 128}, {8, 128}, {4, 256}};
  const SizeFormula formula = fit(points, sizes_of(points, size));
  CHECK(formula.basis == FormulaBasis::determined);
  CHECK(at(formula, {8, 384}) == size(8, 384));
}

TEST_CASE("size fit: what one recording shows of a limit is not confirmed", "[sim][scaling]") {
  const std::vector<Values> points{{4, 1024}, {6, 1024}, {16, 1024}, {64, 1024}};
  CHECK(fit(points, {25165824, 37748736, 100663296, 138412032}).basis == FormulaBasis::determined);
}

TEST_CASE("size fit: where nothing is exact a line is drawn and says so", "[sim][scaling]") {
  // Temporary storage of a sort: chunks, aligned, with a look-back for each tile.
  const std::vector<Values> points{{4, 1024}, {6, 1024}, {16, 1024}, {64, 1024}};
  const SizeFormula formula = fit(points, {71167, 104959, 270847, 1068543});
  CHECK(formula.basis == FormulaBasis::estimated);
  CHECK(at(formula, {64, 1024}) == Approx(1068543).margin(1));
  CHECK(at(formula, {32, 1024}) == Approx(536000).epsilon(0.02));
}

TEST_CASE("size fit: numbers beyond 128 bits are no formula, and no crash", "[sim][scaling]") {
  constexpr std::uint64_t kHuge = ~std::uint64_t{0} >> 1U;
  const std::vector<Values> points{{kHuge, kHuge}, {kHuge - 2, 3}, {5, kHuge - 4}};
  const SizeFormula formula = fit(points, {kHuge, kHuge - 7, 11});
  CHECK(formula.basis != FormulaBasis::confirmed);
  CHECK_FALSE(size_at({.terms = {{{2, 1}, 1 << 30, 1}}}, points[0]));
}

TEST_CASE("size at: sizes are never negative, and say where they are rounded", "[sim][scaling]") {
  const SizeFormula shifted{.terms = {{{1}, 100, 1}, {{0}, -300, 1}}};
  CHECK(at(shifted, {2}) == 0);
  CHECK(at(shifted, {5}) == 200);
  const SizeFormula eighth{.terms = {{{1}, 3, 8}}};
  CHECK_FALSE(size_at(eighth, Values{16})->is_rounded);
  CHECK(size_at(eighth, Values{17})->is_rounded);
  CHECK(at(eighth, {17}) == 6);
}
