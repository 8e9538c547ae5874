// Workspaces of reductions: found by what they sum, and right where no recording shows them.
//
// Sizes are those of the bias gradient of 1024 channels on an H100 (132 multiprocessors), recorded
// with PyTorch 2.15 at 3072, 8192 and 32768 tokens: 48, 128 and 264 blocks of 524288 bytes.
#include "sim/scaling/reduction_workspaces.hpp"

#include <algorithm>
#include <deque>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/scaling/program_fit.hpp"
#include "sim/scaling/scaled_requests.hpp"
#include "tests/support/format_io.hpp"

using namespace highwater;

namespace {

constexpr std::uint64_t kChannels = 1024;

/// Sums of floats over rows, for each of the channels.
ReductionWays sums_over_tokens() {
  const auto law = [](std::uint64_t values, std::uint64_t results) {
    return values < 1021 || results != kChannels
               ? std::nullopt
               : std::optional(WorkspaceLaw{.unit = Bytes{524288},
                                            .values_per_block = 64,
                                            .most_blocks = 264,
                                            .resume = 16,
                                            .fewest_values = 1021,
                                            .semaphores = Bytes{32}});
  };
  return {{.input_item = 4, .output_item = 4, .is_whole = false, .law = law}};
}

/// A step whose backward pass sums a gradient, with the workspace that the kernel takes.
std::string summing(std::uint64_t b, std::uint64_t s) {
  const std::uint64_t tokens = b * s;
  std::string text = fmt::format("a weights 4096 0\nstep 0\nphase backward\na grad {} 0\n",
                                 tokens * kChannels * 4);
  text += fmt::format("a bias {} 0\n", kChannels * 4);
  if (tokens > 1020) {
    text += fmt::format("a work {} 0\na count 32 0\nf count\nf work\n",
                        std::min<std::uint64_t>((tokens + 63) / 64, 264) * 524288);
  }
  return text + fmt::format("f grad\na next {} 0\nf next\nf bias\n", tokens * kChannels * 4);
}

struct Recorded {
  explicit Recorded(const std::vector<Values>& points) {
    for (const Values& point : points) {
      traces.push_back(test::parse_text("conf \n" + summing(point[0], point[1])));
      runs.push_back({"run", &traces.back(), point});
    }
  }

  std::deque<RequestTrace> traces;
  std::vector<FitRun> runs;
};

const std::vector<std::string> kIntegers{"batch", "seq"};
const std::vector<Values> kSmall{{2, 256}, {4, 256}, {2, 512}, {4, 768}};

std::vector<std::uint64_t> sizes_at(const ScalableProgram& program, const Values& values) {
  std::vector<std::uint64_t> sizes;
  for (const Event& event : requests_at(program, values).trace.events) {
    if (event.kind == EventKind::alloc) {
      sizes.push_back(event.value);
    }
  }
  return sizes;
}

}  // namespace

TEST_CASE("workspaces: a sum over tokens saturates where the GPU is busy", "[sim][scaling]") {
  const Recorded recorded(kSmall);
  const ProgramFit fit = fit_program(kIntegers, recorded.runs, sums_over_tokens());
  CHECK(fit.unexplained_workspaces == 0);
  CHECK(sizes_at(fit.program, {16, 512})[3] == 67108864);
  CHECK(sizes_at(fit.program, {64, 512})[3] == 138412032);
  CHECK(sizes_at(fit.program, {64, 8192})[3] ==
        524288 * 512);  // 8192 wanted, 16 times as much each
  for (const SizeFormula& formula : fit.program.formulas) {
    CHECK(formula.basis == FormulaBasis::confirmed);
  }
}

TEST_CASE("workspaces: recordings without one are foretold, and no change", "[sim][scaling]") {
  const Recorded recorded(kSmall);
  const ProgramFit fit = fit_program(kIntegers, recorded.runs, sums_over_tokens());
  CHECK(fit.changes.empty());
  CHECK(sizes_at(fit.program, {2, 256}) ==
        std::vector<std::uint64_t>{4096, 2097152, 4096, 2097152});
  for (const FitRun& run : recorded.runs) {
    CHECK(compare_with(fit.program, run).has_same_requests());
  }
}

TEST_CASE("workspaces: without the rule of the kernel a size is not confirmed", "[sim][scaling]") {
  const Recorded recorded({{4, 512}, {8, 512}, {4, 1024}, {8, 1536}});
  const ProgramFit fit = fit_program(kIntegers, recorded.runs);
  CHECK(fit.unexplained_workspaces == 1);
  const auto requests = requests_at(fit.program, {64, 1024});
  CHECK(requests.determined == 1);
  CHECK(requests.largest_determined == Bytes{524288 * 1024});
}

TEST_CASE("workspaces: nothing else is taken for a workspace when recordings are aligned",
          "[sim][scaling]") {
  // At 1536 tokens the buffer (24 blocks of 65536 bytes) is as large as the gradient that was made
  // before it and the one after; at 512 tokens there is none. As recorded of a CLIP.
  const auto text = [](std::uint64_t tokens) {
    return fmt::format("step 0\nphase backward\na y {0} 0\na bias 512 0\n{1}f y\na z {0} 0\nf z\n",
                       tokens * 1024,
                       tokens > 1020 ? "a work 1572864 0\na count 4 0\nf count\nf work\n" : "");
  };
  const RequestTrace large = test::parse_text("conf \n" + text(1536));
  const RequestTrace small = test::parse_text("conf \n" + text(512));
  const std::vector<FitRun> runs{{"small", &small, {512}}, {"large", &large, {1536}}};
  const ScalableProgram program = fit_program({"tokens"}, runs).program;
  const auto sizes = sizes_at(program, {3072});
  REQUIRE(sizes.size() == 5);
  CHECK(sizes[0] == 3072 * 1024);
  CHECK(sizes[4] == 3072 * 1024);
}
