#include "workloads/estimates/forms/tensor_grid.hpp"

#include "workloads/estimates/terms/assumptions.hpp"
#include "workloads/plan/tensor_grid.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

std::string refusal(const EstimateInputs& inputs) {
  return first_refusal({refuse_without_training(inputs),
                        splits_over_grid(inputs.plan.parallel)
                            ? ""
                            : "it covers tensor parallelism over a grid; add --tp-kind 2d, 2.5d or "
                              "3d"});
}

std::vector<std::string> broken_assumptions(const EstimateInputs& inputs) {
  return broken({{uses_adam(inputs), "it assumes Adam's two moments"},
                 {trains_all(inputs), "it assumes that all parameters are trained"},
                 {keeps_gradients(inputs), "it assumes that all gradients live at the same time"}});
}

// The devices among which weights are split: the grids of 2.5D hold the same ones.
Estimate evaluate(const EstimateInputs& inputs) {
  const Parallelism& p = inputs.plan.parallel;
  return grid_states(static_cast<double>(inputs.parameters()),
                     static_cast<double>(item_size(model_dtype(inputs.plan.precision))),
                     static_cast<double>(p.tp) / grid_depth(p));
}

}  // namespace

GridBlocks grid_blocks_2d(const GridSize& grid, double r, double k, double n) {
  const double q = grid.side;
  const double parts = grid.depth * q;
  return {.weight = {k / q, n / q}, .input = {r / parts, k / q}, .output = {r / parts, n / q}};
}

GridBlocks grid_blocks_3d(double side, double r, double k, double n) {
  const double q = side;
  return {.weight = {k / q, n / (q * q)},
          .input = {r / (q * q), k / q},
          .output = {r / (q * q), n / q}};
}

Estimate grid_states(double parameters, double bytes, double devices) {
  const double share = parameters * bytes / devices;
  return {{{"weights", "b P / S", share, {MemoryPart::parameters}},
           {"gradients", "b P / S", share, {MemoryPart::gradients}},
           {"optimizer states", "2 b P / S", 2 * share, {MemoryPart::optimizer_states}}}};
}

const Formula kTensorGrid{
    .name = "tensor-grid",
    .title = "2D, 2.5D and 3D tensor parallelism's model states",
    .scope = FormulaScope::model_states,
    .equation = "4 b P / S, S = q^2 (2D, 2.5D of d q^2 devices) or q^3 (3D), b bytes per parameter",
    .source =
        "Xu et al. 2021 (arXiv 2104.05343), Wang et al. 2021 (arXiv 2105.14500), Bian et al. 2021 "
        "(arXiv 2105.14450): shares of one device",
    .assumptions = "every weight is split evenly, Adam's moments have the weights' type",
    .known_errors =
        "Colossal-AI keeps the vectors and small tables of 2.5D and 3D on more devices than "
        "that; the buffers of SUMMA, or gathered operands, and activations come on top",
    .refusal = refusal,
    .broken_assumptions = broken_assumptions,
    .evaluate = evaluate,
};

}  // namespace highwater
