// The symbolic operators against recordings of PyTorch 2.6 on an A100: each line below is what the
// caching allocator saw during one operator and its backward pass.
//
// Notation: "+640" is a request for 640 bytes, "-2" frees the request number 2, counted from 0.
// Operands and the gradient of the result were there before; the result goes last.
#include <functional>
#include <map>
#include <string>

#include <catch2/catch.hpp>

#include "workloads/eager/autocast.hpp"
#include "workloads/eager/node.hpp"
#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"

using namespace highwater;
using namespace highwater::eager;

namespace {

constexpr DType kFp32 = DType::fp32;
constexpr DType kBf16 = DType::bf16;

std::string render(const RequestTrace& trace, std::size_t first) {
  std::map<std::uint64_t, std::size_t> numbers;
  std::string text;
  for (std::size_t i = first; i < trace.events.size(); ++i) {
    const Event& event = trace.events[i];
    const auto id = event.allocation.value();
    text += text.empty() ? "" : " ";
    if (event.kind == EventKind::alloc) {
      numbers.emplace(id, numbers.size());
      text += "+" + std::to_string(event.value);
    } else {
      text += "-" + std::to_string(numbers.at(id));
    }
  }
  return text;
}

/// A process whose threads have used cuBLAS before, and what its operands are made of.
class Rig {
 public:
  Rig() : runtime(*find_gpu("a100-80"), {2, 6}, {5, 12}) {
    for (const Thread thread : {Thread::autograd, Thread::main}) {
      runtime.thread = thread;
      runtime.has_cublas_workspace() = true;
    }
  }

  Tensor parameter(const Dims& sizes, DType dtype = kFp32) {
    Tensor made = constant(sizes, dtype);
    made->requires_grad = true;
    return made;
  }

  Tensor constant(const Dims& sizes, DType dtype = kFp32) {
    ++operands_;
    return empty(runtime, sizes, dtype);
  }

  Tensor indices(const Dims& sizes) { return constant(sizes, DType::int64); }

  /// What `run` does with memory, and the backward pass from its result with gradient `grad`.
  std::string record(const std::function<Tensor()>& run, const Tensor& grad = {}) {
    Tensor result = run();
    return finish(std::move(result), grad);
  }

  std::string record_autocast(const std::function<Tensor()>& run, const Tensor& grad) {
    Tensor result;
    {
      const AutocastContext autocast(runtime, kBf16);
      result = run();
    }
    return finish(std::move(result), grad);
  }

  Runtime runtime;

 private:
  std::string finish(Tensor result, const Tensor& grad) {
    if (result.defined() && result.requires_grad()) {
      backward(result, grad);
    }
    result.reset();
    return render(runtime.take_trace(), operands_);
  }

  std::size_t operands_ = 0;  ///< each is one event
};

/// Query, key and value as models make them: [2, s, heads, d] turned to [2, heads, s, d].
struct Heads {
  Heads(Rig& rig, std::int64_t heads, std::int64_t kv_heads, std::int64_t length,
        std::int64_t head_dim, DType dtype)
      : query(transpose(rig.parameter({2, length, heads, head_dim}, dtype), 1, 2)),
        key(transpose(rig.parameter({2, length, kv_heads, head_dim}, dtype), 1, 2)),
        value(transpose(rig.parameter({2, length, kv_heads, head_dim}, dtype), 1, 2)) {}

  [[nodiscard]] Tensor attend(const SdpaOptions& options, const Tensor& mask = {}) const {
    return scaled_dot_product_attention(query, key, value, mask, options);
  }

  Tensor query;
  Tensor key;
  Tensor value;
};

}  // namespace

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
    CHECK(rig.record([&] { return sum(x, {0}, false); }) == "+256 +16384 -1 -0");
  }
  SECTION("sum of bool") {
    const Tensor x = rig.constant({64, 32}, DType::boolean);
    CHECK(rig.record([&] { return sum(x, {}, false); }) == "+8 +16384 -1 -0");
  }
  SECTION("sum of a slice") {
    const Tensor x = rig.parameter({200, 100001});
    const Tensor grad = rig.constant({});
    CHECK(rig.record([&] { return sum(slice(slice(x, 0, 0, 200), 1, 1, 100001), {}, false); },
                     grad) == "+4 +1728 +4 -2 -1 +80000800 +80000800 -3 -0");
  }
}

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
                div_(top.values, sum(top.values, {-1}, true));
                end_of_frame(top.indices);
                return top.values;
              },
              grad) ==
          "+640 +640 -0 +80 +160 +40 +80 +80 +80 +80 +80 -8 -7 -6 +80 +40 -9 -4 -5 -11 "
          "+640 -10 -3 +640 +640 -14 -12 -1 +320 -13 -2");
  }
}

TEST_CASE("scaled dot product attention", "[workloads][eager][golden]") {
  Rig rig;
  SECTION("flash") {
    const Heads in(rig, 4, 4, 32, 16, kBf16);
    const Tensor grad = rig.constant({2, 4, 32, 16}, kBf16);
    CHECK(rig.record([&] { return in.attend({.is_causal = true}); }, grad) ==
          "+8192 +1024 +8192 +8192 +8192 +8192 +4096 +131072 -7 -6 -2 -1 -0");
  }
  SECTION("flash grouped") {
    const Heads in(rig, 4, 2, 32, 16, kBf16);
    const Tensor grad = rig.constant({2, 4, 32, 16}, kBf16);
    CHECK(rig.record([&] { return in.attend({.is_causal = true, .enable_gqa = true}); }, grad) ==
          "+8192 +1024 +8192 +8192 +4096 +4096 +4096 +131072 +8192 +8192 -9 -8 -7 -6 -2 "
          "-1 -0");
  }
  SECTION("flash padded") {
    const Heads in(rig, 4, 4, 32, 20, kBf16);
    const Tensor grad = rig.constant({2, 4, 32, 20}, kBf16);
    CHECK(rig.record([&] { return in.attend({.is_causal = true}); }, grad) ==
          "+12288 +12288 +12288 +12288 +1024 +12288 +12288 +12288 +12288 +12288 +12288 "
          "+4096 +131072 -12 -11 -7 -6 -5 -1 -0 -2 -4 +10240 -10 +10240 -9 +10240 -8 "
          "+10240 -13 +10240 -14 +10240 -15 -3");
  }
  SECTION("efficient fp32") {
    const Heads in(rig, 4, 4, 32, 16, kFp32);
    const Tensor grad = rig.constant({2, 4, 32, 16}, kFp32);
    CHECK(rig.record([&] { return in.attend({.is_causal = true}); }, grad) ==
          "+16384 +1024 +16384 +16384 +16384 +16384 +16384 +1024 +1024 -7 -6 +131200 -8 "
          "-9 -2 -1 -0");
  }
  SECTION("efficient mask") {
    const Heads in(rig, 4, 4, 33, 16, kBf16);
    const Tensor mask = rig.constant({2, 1, 33, 33}, DType::boolean);
    const Tensor grad = rig.constant({2, 4, 33, 16}, kBf16);
    CHECK(rig.record([&] { return in.attend({}, mask); }, grad) ==
          "+2 +2 +4356 -1 -0 +5280 -2 +8448 +2048 +8448 +8448 +8448 +8448 +1056 +131200 "
          "-10 -11 -6 -3 -5 -4");
  }
  SECTION("math grouped") {
    const Heads in(rig, 4, 2, 32, 16, kFp32);
    const Tensor grad = rig.constant({2, 4, 32, 16}, kFp32);
    CHECK(rig.record([&] { return in.attend({.is_causal = true, .enable_gqa = true}); }, grad) ==
          "+16384 +1024 +1024 -1 +4 +4 +4096 -4 -3 -2 +16384 +16384 +16384 +16384 "
          "+32768 +32768 +8192 +256 +4 -14 -13 -12 -10 +16384 -6 -0 -5 +16384 +32768 -7 "
          "+32768 +32768 -19 -17 -11 +16384 +16384 -18 -8 -9 +16384 -20 +8192 -16 +8192 "
          "-22 +16384 -21 +8192 -23 +8192 -24 +16384 -25 -15");
  }
  SECTION("math bf16") {
    const Heads in(rig, 4, 4, 32, 16, kBf16);
    rig.runtime.sdpa_backend = SdpaBackend::math;
    const Tensor grad = rig.constant({2, 4, 32, 16}, kBf16);
    CHECK(rig.record([&] { return in.attend({.is_causal = true}); }, grad) ==
          "+16384 +16384 +16384 +16384 +1024 +1024 -4 +4 +4 +4096 -7 -6 -5 +16384 "
          "+16384 +16384 +32768 -9 +32768 +8192 +256 +4 -16 -15 -14 -12 +16384 +16384 "
          "+16384 +8192 -19 -3 -8 -2 -1 -0 -17 +16384 +16384 +32768 -21 -18 +32768 "
          "+32768 -25 -23 -13 +16384 +16384 -24 -11 -10 +16384 -26 +16384 -27 +8192 -22 "
          "+8192 -28 +8192 -29 +8192 -30 +8192 -31 +8192 -32 -20");
  }
  SECTION("cudnn") {
    const Heads in(rig, 4, 4, 32, 16, kBf16);
    rig.runtime.sdpa_backend = SdpaBackend::cudnn;
    const Tensor grad = rig.constant({2, 4, 32, 16}, kBf16);
    CHECK(rig.record([&] { return in.attend({.is_causal = true}); }, grad) ==
          "+8 +8 +8192 +1024 +8192 +8192 +8192 +8192 +17408 -8 -7 -3 -1 -0 -2");
  }
}
