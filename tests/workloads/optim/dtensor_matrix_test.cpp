// How torch's Muon moves matrices that are DTensors: expected are the calls of
// redistribute_local_tensor that PyTorch 2.15 makes (on a fake process group) while
// _zeropower_via_newtonschulz() and param.add_() run on a bf16 DTensor with Shard(0).
#include <array>
#include <string>

#include <catch2/catch.hpp>

#include "tests/workloads/optim/request_words.hpp"
#include "traces/error.hpp"
#include "workloads/optim/algorithms.hpp"

using namespace highwater;
using namespace highwater::eager;
using namespace highwater::optim_tests;

namespace {

char letter(optim::Layout layout) {
  constexpr std::array kLetters{'w', 'r', 'c', 'p'};
  return kLetters[static_cast<std::size_t>(layout)];
}

/// Writes down what is redistributed, "rc" from rows to columns.
class Watched : public optim::Resharding {
 public:
  Watched(int ranks, std::int64_t rows) : ranks_(ranks), rows_(rows) {}

  [[nodiscard]] std::int64_t whole_rows(const Tensor& /*shard*/) const override { return rows_; }

  Tensor full_norm(const Tensor& partial) const override { return eager::clone(partial); }

  Tensor gather(const Tensor& shard, std::int64_t /*rows*/) const override { return shard; }

  [[nodiscard]] int ranks() const override { return ranks_; }

  Tensor redistribute(const Tensor& local, optim::MatrixSize size, optim::Layout from,
                      optim::Layout to) const override {
    moves += moves.empty() ? "" : " ";
    moves += {letter(from), letter(to)};
    const std::int64_t rows = to == optim::Layout::rows ? size.rows / ranks_ : size.rows;
    const std::int64_t columns =
        to == optim::Layout::columns ? size.columns / ranks_ : size.columns;
    return eager::empty(local.runtime(), {rows, columns}, local.dtype());
  }

  mutable std::string moves;

 private:
  int ranks_;
  std::int64_t rows_;
};

std::string moves_of(int ranks, std::int64_t rows, std::int64_t columns) {
  Model model({{{rows / ranks, columns}, DType::bf16}}, {2, 15});
  model.make_grads();
  const Watched watched(ranks, rows);
  optim::Slot slot{
      .param = model.params.front(), .model = {}, .state = {}, .is_initialized = false};
  const NoGrad no_grad(model.runtime);
  optim::muon({.kind = OptimizerKind::muon, .runtime = &model.runtime, .resharding = &watched},
              {&slot});
  return watched.moves;
}

std::string five_times(const std::string& moves) {
  std::string all = moves;
  for (int i = 1; i < 5; ++i) {
    all += " " + moves;
  }
  return all;
}

}  // namespace

TEST_CASE("optim: Muon moves shards as PyTorch 2.15 does", "[optim]") {
  const std::string gathers = five_times("cw rw rw");
  const std::string sums = five_times("pw pw");
  const std::string exchanges = five_times("rc cr pw pr rw");
  const std::string stays_in_columns = "rc cr pw rc pw rc pw pw pw pw pw pw pw pw cr";
  const auto [ranks, rows, columns, expected] =
      GENERATE_COPY(table<int, std::int64_t, std::int64_t, std::string>({
          {2, 256, 256, gathers},
          {2, 688, 256, sums},
          {2, 4096, 4096, gathers},
          {2, 4096, 14336, gathers},
          {2, 8, 4096, gathers},
          {4, 256, 688, gathers},
          {4, 1024, 1024, gathers},
          {4, 1024, 4096, stays_in_columns},
          {4, 4096, 4096, exchanges},
          {4, 14336, 4096, sums},
          {8, 256, 1024, gathers},
          {8, 1024, 1024, exchanges},
          {8, 4096, 14336, stays_in_columns},
          {16, 256, 688, gathers},
          {16, 1024, 4096, stays_in_columns},
          {16, 4096, 1024, sums},
          {16, 4096, 4096, exchanges},
      }));
  CAPTURE(ranks, rows, columns);
  CHECK(moves_of(ranks, rows, columns) == expected);
}

TEST_CASE("optim: Muon refuses a matrix with fewer rows than ranks, as DTensor does", "[optim]") {
  CHECK_THROWS_AS(moves_of(16, 8, 4096), InputError);
}
