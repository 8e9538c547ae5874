#include "workloads/plan/rules/gpu_kernels.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include <fmt/format.h>

#include "traces/release.hpp"
#include "workloads/facts/facts.hpp"

namespace highwater {
namespace {

/// Capabilities are written as releases are: "8.6".
Release capability_in(const JsonField& kernels) {
  return release_of(kernels.view());
}

/// PyTorch 2.15 cuda/__init__.py _check_cubins
bool runs_on(const Release& kernels, const Gpu& gpu) {
  return kernels.major == gpu.major && kernels.minor <= gpu.minor;
}

}  // namespace

std::optional<std::string> why_no_kernels(const Gpu& gpu, std::string_view torch) {
  const Release capability{gpu.major, gpu.minor};
  const auto release = parse_release(torch);
  for (const JsonField& wheel : facts("gpus.json").at("wheels").elements()) {
    std::vector<Release> kernels;
    std::ranges::transform(wheel.at("kernels").elements(), std::back_inserter(kernels),
                           capability_in);
    const Release of_wheel = release_of(wheel.at("torch").view());
    const bool runs =
        std::ranges::any_of(kernels, [&](const Release& each) { return runs_on(each, gpu); });
    const bool is_told = capability < kernels.front() ? of_wheel <= release : release <= of_wheel;
    if (release && is_told && !runs) {
      return fmt::format(
          "PyTorch {} has no kernels for {} (compute capability {}; the wheel of PyTorch {} for "
          "CUDA {} has them from {} to {}), so nothing would run there; give --torch with a "
          "release that has, or another --gpu",
          torch, gpu.name, to_string(capability), to_string(of_wheel), wheel.at("cuda").view(),
          to_string(kernels.front()), to_string(kernels.back()));
    }
  }
  return std::nullopt;
}

}  // namespace highwater
