// Views, products, gradients, autocast and reductions against recordings of PyTorch 2.6 (rig.hpp):
// each line is what the caching allocator saw during one operator and its backward pass.
#include <catch2/catch.hpp>

#include "tests/workloads/eager/rig.hpp"

using namespace highwater;
using namespace highwater::eager;

TEST_CASE("views share a block, other shapes take a copy", "[workloads][eager][golden]") {
  Rig rig;
  SECTION("view then copy") {
    const Tensor x = rig.parameter({2, 8, 16});
    const Tensor grad = rig.constant({2, 128});
    CHECK(rig.record(
              [&] {
                return mul(reshape(transpose(x, 1, 2), {2, 128}), 1.0);
              },
              grad) == "+1024 +1024 -0 +1024 +1024 -2 -1");
  }
  SECTION("clone a view") {
    const Tensor x = rig.parameter({4, 300});
    const Tensor grad = rig.constant({300, 4});
    CHECK(rig.record([&] { return add(view(x, {300, 4}), 1.0); }, grad) == "+4800 -0");
  }
}

TEST_CASE("linear takes addmm, or a product and an addition in place",
          "[workloads][eager][golden]") {
  Rig rig;
  SECTION("linear 2-D") {
    const Tensor x = rig.parameter({10, 16});
    const Tensor w = rig.parameter({24, 16});
    const Tensor b = rig.parameter({24});
    const Tensor grad = rig.constant({10, 24});
    CHECK(rig.record([&] { return linear(x, w, b); }, grad) ==
          "+960 +1048576 -1 +640 +1536 +96 -0");
  }
  SECTION("linear 3-D") {
    const Tensor x = rig.parameter({2, 5, 16});
    const Tensor w = rig.parameter({24, 16});
    const Tensor b = rig.parameter({24});
    const Tensor grad = rig.constant({2, 5, 24});
    CHECK(rig.record([&] { return linear(x, w, b); }, grad) ==
          "+960 +1048576 -1 +640 +1536 +96 -0");
  }
  SECTION("linear strided") {
    const Tensor x = rig.parameter({2, 16, 5});
    const Tensor w = rig.parameter({24, 16});
    const Tensor b = rig.parameter({24});
    const Tensor strided = transpose(x, 1, 2);
    const Tensor grad = rig.constant({2, 5, 24});
    CHECK(rig.record([&] { return linear(strided, w, b); }, grad) ==
          "+640 +960 +96 +1536 +640 -0 +640 -4 -1");
  }
}

TEST_CASE("matmul folds or batches", "[workloads][eager][golden]") {
  Rig rig;
  SECTION("matmul folded") {
    const Tensor x = rig.parameter({2, 5, 16});
    const Tensor w = rig.parameter({16, 24});
    const Tensor grad = rig.constant({2, 5, 24});
    CHECK(rig.record([&] { return matmul(x, w); }, grad) == "+960 +1536 +640 -0");
  }
  SECTION("matmul batched") {
    const Tensor x = rig.parameter({2, 4, 8, 16});
    const Tensor y = rig.parameter({2, 4, 8, 16});
    const Tensor turned = transpose(y, 2, 3);
    const Tensor grad = rig.constant({2, 4, 8, 8});
    CHECK(rig.record([&] { return matmul(x, turned); }, grad) == "+2048 +4096 +4096 +4096 -1 -0");
  }
  SECTION("matmul copies") {
    const Tensor x = rig.parameter({2, 8, 4, 16});
    const Tensor y = rig.parameter({2, 8, 4, 16});
    const Tensor left = transpose(x, 1, 2);
    const Tensor right = permute(y, {0, 2, 3, 1});
    const Tensor grad = rig.constant({2, 4, 8, 8});
    CHECK(rig.record([&] { return matmul(left, right); }, grad) ==
          "+4096 +4096 +2048 +4096 +4096 -1 -0 +4096 -3 +4096 -4 -2");
  }
}

TEST_CASE("gradients of broadcast operands are summed, then cast", "[workloads][eager][golden]") {
  Rig rig;
  SECTION("mul broadcast") {
    const Tensor x = rig.parameter({4, 300});
    const Tensor w = rig.parameter({300});
    const Tensor grad = rig.constant({4, 300});
    CHECK(rig.record([&] { return mul(x, w); }, grad) == "+4800 +4800 +4800 +1200 -1 -0");
  }
  SECTION("mul mixed types") {
    const Tensor x = rig.parameter({4, 300});
    const Tensor w = rig.parameter({300}, kBf16);
    const Tensor grad = rig.constant({4, 300});
    CHECK(rig.record([&] { return mul(x, w); }, grad) == "+4800 +4800 +4800 +1200 -1 +600 -3 -0");
  }
  SECTION("add broadcast") {
    const Tensor x = rig.parameter({4, 300});
    const Tensor w = rig.parameter({300});
    const Tensor grad = rig.constant({4, 300});
    CHECK(rig.record([&] { return add(x, w); }, grad) == "+4800 +1200 +4800 -0");
  }
  SECTION("div broadcast") {
    const Tensor x = rig.parameter({4, 300});
    const Tensor w = rig.parameter({4, 1});
    const Tensor grad = rig.constant({4, 300});
    CHECK(rig.record([&] { return div(x, w); }, grad) ==
          "+4800 +4800 +4800 +4800 +4800 -3 -2 -1 +4800 +16 -4 -0");
  }
}

TEST_CASE("gradients are summed in place only if nobody else holds them",
          "[workloads][eager][golden]") {
  Rig rig;
  SECTION("accumulate in place") {
    const Tensor x = rig.parameter({4, 300});
    const Tensor grad = rig.constant({4, 300});
    CHECK(rig.record(
              [&] {
                Tensor a = mul(x, 2.0);
                Tensor b = mul(x, 3.0);
                Tensor o = add(a, b);
                end_of_frame(a, b);
                return o;
              },
              grad) == "+4800 +4800 +4800 -0 -1 +4800 +4800 -4 -2");
  }
  SECTION("accumulate shared") {
    const Tensor x = rig.parameter({4, 300});
    const Tensor grad = rig.constant({4, 300});
    CHECK(rig.record(
              [&] {
                Tensor a = add(x, mul(x, 3.0));
                Tensor o = add(a, x);
                return o;
              },
              grad) == "+4800 +4800 -0 +4800 -1 +4800 +4800 -4 -2");
  }
  SECTION("steal transposed") {
    const Tensor x = rig.parameter({4, 300});
    const Tensor grad = rig.constant({300, 4});
    CHECK(rig.record([&] { return mul(t(x), 2.0); }, grad) == "+4800 +4800 +4800 -1 -0");
  }
}

TEST_CASE("autocast casts from the last argument to the first and keeps the weights",
          "[workloads][eager][golden]") {
  Rig rig;
  SECTION("autocast cache") {
    const Tensor x = rig.parameter({10, 16});
    const Tensor w = rig.parameter({16, 16});
    const Tensor grad = rig.constant({10, 16}, kBf16);
    CHECK(rig.record_autocast(
              [&] {
                Tensor y = mul(x, 1.0);
                Tensor z = linear(y, w, {});
                y.reset();
                return linear(z, w, {});
              },
              grad) ==
          "+640 +512 +320 +320 -0 +320 +512 +320 -3 +512 +320 -6 -1 -2 +512 -5 -7 +640 "
          "-8 +1024 -9 +640 -10 -4");
  }
  SECTION("autocast linear") {
    const Tensor x = rig.parameter({10, 16});
    const Tensor w = rig.parameter({24, 16});
    const Tensor b = rig.parameter({24});
    const Tensor grad = rig.constant({10, 24}, kBf16);
    CHECK(rig.record_autocast([&] { return linear(mul(x, 1.0), w, b); }, grad) ==
          "+640 +48 +768 +320 +480 +1048576 -5 -0 -1 +320 +768 +48 -3 -2 +640 -6 +1536 "
          "-7 +96 -8 +640 -9 -4");
  }
}

// The second as PyTorch 2.15 makes it; PyTorch 2.10 answers in bf16.
TEST_CASE("autocast computes RMS norms in fp32 since 2.12", "[workloads][eager]") {
  const auto recorded = [](Release torch) {
    Rig rig(torch);
    const Tensor x = rig.constant({4, 300}, kBf16);
    return rig.record_autocast([&] { return rms_norm(x, {}); }, {});
  };
  CHECK(recorded({2, 11}) == "+2400 +16 -1 -0");
  CHECK(recorded({2, 12}) == "+4800 +4800 +16 -2 -0 -1");
}

TEST_CASE("softmax, dropout, layer norm and loss", "[workloads][eager][golden]") {
  Rig rig;
  SECTION("softmax") {
    const Tensor x = rig.parameter({4, 300});
    const Tensor grad = rig.constant({4, 300});
    CHECK(rig.record([&] { return softmax(x, -1, std::nullopt); }, grad) ==
          "+4800 +4800 +4800 -2 -0");
  }
  SECTION("softmax widened") {
    const Tensor x = rig.parameter({4, 300}, kBf16);
    const Tensor grad = rig.constant({4, 300});
    CHECK(rig.record([&] { return softmax(x, -1, kFp32); }, grad) ==
          "+4800 +4800 -0 +4800 +4800 -3 +2400 -2 -1");
  }
  SECTION("dropout") {
    const Tensor x = rig.parameter({4, 300});
    const Tensor grad = rig.constant({4, 300});
    CHECK(rig.record([&] { return dropout(x, 0.5, true); }, grad) == "+1200 +4800 +4800 -0 -1");
  }
  SECTION("layer norm") {
    const Tensor x = rig.parameter({4, 300}, kBf16);
    const Tensor w = rig.parameter({300}, kBf16);
    const Tensor b = rig.parameter({300}, kBf16);
    const Tensor grad = rig.constant({4, 300}, kBf16);
    CHECK(rig.record([&] { return layer_norm(x, w, b); }, grad) ==
          "+2400 +16 +16 +2400 +600 +600 -1 -2 -0");
  }
  SECTION("cross entropy") {
    const Tensor x = rig.parameter({40, 300});
    const Tensor target = rig.indices({40});
    const Tensor grad = rig.constant({});
    CHECK(rig.record([&] { return cross_entropy(x, target); }, grad) ==
          "+48000 +4 +4 +48000 -2 +48000 -3 -0 -1");
  }
}

TEST_CASE("reductions: integers are copied, offsets count", "[workloads][eager][golden]") {
  Rig rig;
  SECTION("sum of int32") {
    const Tensor x = rig.constant({64, 32}, DType::int32);
    CHECK(rig.record([&] { return sum(x, {0}, KeepDim::no); }) == "+256 +16384 -1 -0");
  }
  SECTION("sum of bool") {
    const Tensor x = rig.constant({64, 32}, DType::boolean);
    CHECK(rig.record([&] { return sum(x, {}, KeepDim::no); }) == "+8 +16384 -1 -0");
  }
  SECTION("sum of a slice") {
    const Tensor x = rig.parameter({200, 100001});
    const Tensor grad = rig.constant({});
    CHECK(rig.record([&] { return sum(slice(slice(x, 0, 0, 200), 1, 1, 100001), {}, KeepDim::no); },
                     grad) == "+4 +1728 +4 -2 -1 +80000800 +80000800 -3 -0");
  }
}
