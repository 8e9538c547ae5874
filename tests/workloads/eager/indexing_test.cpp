// Indexing, sorting and selecting against recordings of PyTorch 2.6 (rig.hpp).
#include <catch2/catch.hpp>

#include "tests/workloads/eager/rig.hpp"

using namespace highwater;
using namespace highwater::eager;

TEST_CASE("indexing", "[workloads][eager][golden]") {
  Rig rig;
  SECTION("index") {
    const Tensor x = rig.parameter({10, 16});
    const Tensor i = rig.indices({2, 3});
    const Tensor grad = rig.constant({2, 3, 16});
    CHECK(rig.record([&] { return index(x, i); }, grad) ==
          "+384 +640 +48 +48 -2 +48 +48 +48 +1 -7 -6 -5 -4 -3 -0");
  }
  SECTION("index, strided gradient") {
    const Tensor x = rig.parameter({10, 16});
    const Tensor i = rig.indices({20});
    const Tensor grad = t(rig.constant({16, 20}));
    CHECK(rig.record([&] { return index(x, i); }, grad) ==
          "+1280 +640 +160 +160 -2 +1280 +160 +160 +160 +1 -8 -7 -6 -5 -4 -3 -0");
  }
  SECTION("index with two") {
    const Tensor x = rig.parameter({10, 4});
    const Tensor i = rig.indices({7});
    const Tensor j = rig.indices({7});
    const Tensor grad = rig.constant({7, 1});
    CHECK(rig.record([&] { return index(unsqueeze(x, 2), i, j); }, grad) ==
          "+28 +160 +56 +56 -2 +56 +56 -4 -5 +56 +56 +56 +1 -9 -8 -7 -6 -3 -0");
  }
  SECTION("index_select") {
    const Tensor x = rig.parameter({10, 16});
    const Tensor i = rig.indices({7});
    const Tensor grad = rig.constant({7, 16});
    CHECK(rig.record([&] { return index_select(x, 0, i); }, grad) == "+448 +640 -0");
  }
  SECTION("gather") {
    const Tensor x = rig.parameter({10, 16});
    const Tensor i = rig.indices({10, 3});
    const Tensor grad = rig.constant({10, 3});
    CHECK(rig.record([&] { return gather(mul(x, 1.0), 1, i); }, grad) ==
          "+640 +120 +640 -0 +640 -2 -1");
  }
  SECTION("index_add_") {
    const Tensor x = rig.parameter({10, 16});
    const Tensor grad = rig.constant({10, 16});
    CHECK(rig.record(
              [&] {
                Tensor total = empty_like(x);
                Tensor i = arange(rig.runtime, 7);
                Tensor rows = mul(index(x, i), 2.0);
                index_add_(total, 0, i, rows);
                end_of_frame(i, rows);
                return total;
              },
              grad) ==
          "+640 +56 +448 +448 -2 +448 -3 +448 -4 +640 +56 +56 -7 +56 +56 +56 +1 -12 -11 "
          "-10 -9 -8 -5 -1 -0");
  }
  SECTION("repeat_interleave") {
    const Tensor x = rig.parameter({10, 16});
    const Tensor grad = rig.constant({30, 16});
    CHECK(rig.record([&] { return repeat_interleave(x, 3, 0); }, grad) == "+1920 +640 -0");
  }
}

TEST_CASE("sorting and selecting", "[workloads][eager][golden]") {
  Rig rig;
  SECTION("topk") {
    const Tensor x = rig.parameter({10, 16});
    const Tensor grad = rig.constant({10, 2});
    CHECK(rig.record([&] { return topk(mul(x, 1.0), 2).values; }, grad) ==
          "+640 +80 +160 -0 +640 -2 +640 -3 -1");
  }
  SECTION("sort") {
    const Tensor x = rig.parameter({10, 16});
    const Tensor grad = rig.constant({10, 16});
    CHECK(rig.record([&] { return sort(x).values; }, grad) == "+640 +1280 +128 -2 +640 -1 -0");
  }
  SECTION("sort of int64") {
    const Tensor x = rig.indices({5000});
    CHECK(rig.record([&] {
      Selected sorted = sort(x);
      end_of_frame(sorted.values, sorted.indices);
      return Tensor{};
    }) == "+40000 +40000 +40000 +99327 -3 -2 -0 -1");
  }
  SECTION("argsort") {
    const Tensor x = rig.indices({50});
    CHECK(rig.record([&] { return argsort(x); }) == "+400 +400 +400 -2 -0 -1");
  }
  SECTION("one_hot") {
    const Tensor x = rig.indices({10, 2});
    CHECK(rig.record([&] { return one_hot(x, 8); }) == "+1280 -0");
  }
  SECTION("nonzero none") {
    const Tensor x = rig.indices({6, 50});
    CHECK(rig.record([&] { return nonzero(x, 0); }) == "+4 +1 -1 +767 -2 -0");
  }
  SECTION("nonzero") {
    const Tensor x = rig.indices({6, 50});
    CHECK(rig.record([&] { return nonzero(x, 9); }) == "+4 +1 -1 +144 +767 -3 -0 -2");
  }
  SECTION("where") {
    const Tensor x = t(rig.indices({50, 6}));
    CHECK(rig.record([&] {
      where(x, 9);
      return Tensor{};
    }) == "+2400 +4 +1 -2 +144 +767 -4 -1 -0 -3");
  }
  SECTION("cumsum") {
    Tensor x;
    CHECK(rig.record([&] {
      x = empty(rig.runtime, {3, 50}, DType::int64);
      Tensor o = cumsum(x, -1);
      x.reset();
      return o;
    }) == "+1200 +1200 -0 -1");
  }
  SECTION("router") {
    const Tensor x = rig.parameter({10, 16}, kBf16);
    const Tensor grad = rig.constant({10, 2});
    CHECK(rig.record(
              [&] {
                Tensor wide = to_dtype(x, kFp32);
                Tensor p = softmax(wide, -1, std::nullopt);
                wide.reset();
                Selected top = topk(p, 2);
                div_(top.values, sum(top.values, {-1}, KeepDim::yes));
                end_of_frame(top.indices);
                return top.values;
              },
              grad) ==
          "+640 +640 -0 +80 +160 +40 +80 +80 +80 +80 +80 -8 -7 -6 +80 +40 -9 -4 -5 -11 "
          "+640 -10 -3 +640 +640 -14 -12 -1 +320 -13 -2");
  }
}

TEST_CASE("expanded indices of an embedding are copied, forward and backward",
          "[workloads][eager]") {
  const auto copies = [](bool is_expanded) {
    Rig rig;
    const Tensor weight = rig.parameter({10, 16});
    const Tensor grad = rig.constant({4, 8, 16});
    const Tensor indices = rig.indices({is_expanded ? 1 : 4, 8});
    const std::string requests = rig.record(
        [&] {
          return embedding(weight, expand(indices, {4, 8}));
        },
        grad);
    int found = 0;
    for (std::size_t at = requests.find("+256 "); at != std::string::npos;
         at = requests.find("+256 ", at + 1)) {
      ++found;
    }
    return found;
  };
  CHECK(copies(true) == copies(false) + 2);
}
