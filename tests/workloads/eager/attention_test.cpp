// Scaled dot product attention against recordings of PyTorch 2.6 (rig.hpp).
#include <catch2/catch.hpp>

#include "tests/workloads/eager/rig.hpp"

using namespace highwater;
using namespace highwater::eager;

namespace {

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
    rig.runtime.cudnn_workspaces = CudnnWorkspaces::none;
    const Tensor grad = rig.constant({2, 4, 32, 16}, kBf16);
    CHECK(rig.record([&] { return in.attend({.is_causal = true}); }, grad) ==
          "+8 +8 +8192 +1024 +8192 +8192 +8192 +8192 +17408 -8 -7 -3 -1 -0 -2");
  }
}
