#include "workloads/step_time/machine.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace highwater::timing {
namespace {

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;

/// Share of the nominal rate that the best shape of a product reaches. Measured for A100, H100 (of
/// H200 the same), GH200 and B200; other GPUs get the mean of those (Bekman, "Machine Learning
/// Engineering", compute/accelerator, "Maximum Achievable Matmul FLOPS comparison table", bf16).
constexpr double kAmpereShare = 0.869;
constexpr double kHopperShare = 0.803;
constexpr double kGraceHopperShare = 0.838;
constexpr double kBlackwellShare = 0.776;
constexpr double kUsualShare = 0.80;

/// Share of a link's nominal rate that collectives reach: 78 % over NVLink 3, 80 to 82 % over
/// NVLink 4 with rings (the same book, network, "all-reduce benchmarks"), and the network's "rule
/// of thumb" of 80 % there.
constexpr double kLinkShare = 0.80;

// PCI Express by 16 lanes in one direction: generations 3, 4 and 5 (PCI-SIG's FAQ).
constexpr double kPcie3 = 15.75;
constexpr double kPcie4 = 31.5;
constexpr double kPcie5 = 63.0;

/// Rates of NVIDIA's data sheets, dense: tera-operations in 16 bits (with sums in fp32) and in fp32
/// or TF32, gigabytes of memory, of NVLink or PCI Express in one direction, of the network per GPU
/// and of the host.
struct DataSheet {
  std::string_view gpu;
  double half;
  double full;
  double memory;
  double link;
  double network;
  double host;
  double share;
};

// The network is that of the DGX: DGX-1 4 x 100 Gbit/s, DGX A100 8 x 200, DGX H100 and B200 8 x
// 400; of boards without NVLink one port of 200 Gbit/s for two (HGX and OVX reference designs).
constexpr double kDgx1 = 6.25;
constexpr double kDgxA100 = 25;
constexpr double kDgxH100 = 50;
constexpr double kOvx = 12.5;

constexpr std::array kDataSheets{
    DataSheet{"a100-80", 312, 156, 2039, 300, kDgxA100, kPcie4, kAmpereShare},
    DataSheet{"a100-40", 312, 156, 1555, 300, kDgxA100, kPcie4, kAmpereShare},
    DataSheet{"h100-80", 989, 494, 3350, 450, kDgxH100, kPcie5, kHopperShare},
    DataSheet{"h100-pcie", 756, 378, 2000, kPcie5, kDgxH100, kPcie5, kHopperShare},
    DataSheet{"h100-nvl", 835, 417, 3900, kPcie5, kDgxH100, kPcie5, kHopperShare},
    DataSheet{"h100-96", 989, 494, 3350, 450, kDgxH100, kPcie5, kHopperShare},
    DataSheet{"h200", 989, 494, 4800, 450, kDgxH100, kPcie5, kHopperShare},
    DataSheet{"gh200", 989, 494, 4000, 450, kDgxH100, 450, kGraceHopperShare},
    DataSheet{"b200", 2250, 1125, 8000, 900, kDgxH100, kPcie5, kBlackwellShare},
    DataSheet{"v100-16", 125, 15.7, 900, 150, kDgx1, kPcie3, kUsualShare},
    DataSheet{"v100-32", 125, 15.7, 900, 150, kDgx1, kPcie3, kUsualShare},
    DataSheet{"p100-16", 21.2, 10.6, 732, 80, kDgx1, kPcie3, kUsualShare},
    DataSheet{"l40s", 362, 183, 864, kPcie4, kOvx, kPcie4, kUsualShare},
    DataSheet{"l40", 181, 90.5, 864, kPcie4, kOvx, kPcie4, kUsualShare},
    DataSheet{"l4", 121, 60, 300, kPcie4, kOvx, kPcie4, kUsualShare},
    DataSheet{"t4", 65, 8.1, 320, kPcie3, kOvx, kPcie3, kUsualShare},
    DataSheet{"a40", 149.7, 74.8, 696, kPcie4, kOvx, kPcie4, kUsualShare},
    DataSheet{"a10g", 70, 35, 600, kPcie4, kOvx, kPcie4, kUsualShare},
    DataSheet{"a10", 125, 62.5, 600, kPcie4, kOvx, kPcie4, kUsualShare},
    DataSheet{"rtx6000-ada", 364.2, 182.1, 960, kPcie4, kOvx, kPcie4, kUsualShare},
    DataSheet{"rtxa6000", 154.8, 77.4, 768, kPcie4, kOvx, kPcie4, kUsualShare},
    DataSheet{"rtxa5000", 111.1, 55.6, 768, kPcie4, kOvx, kPcie4, kUsualShare},
    DataSheet{"rtx-pro-6000", 503.8, 251.9, 1792, kPcie5, kOvx, kPcie5, kUsualShare},
    DataSheet{"rtx5090", 209.5, 104.8, 1792, kPcie5, kOvx, kPcie5, kUsualShare},
    DataSheet{"rtx4090", 165.2, 82.6, 1008, kPcie4, kOvx, kPcie4, kUsualShare},
    DataSheet{"rtx4080", 97.5, 48.7, 717, kPcie4, kOvx, kPcie4, kUsualShare},
    DataSheet{"rtx3090", 71, 35.6, 936, kPcie4, kOvx, kPcie4, kUsualShare},
    DataSheet{"rtx3060", 25.5, 12.7, 360, kPcie4, kOvx, kPcie4, kUsualShare},
    DataSheet{"rtx2080ti", 53.8, 13.4, 616, kPcie3, kOvx, kPcie3, kUsualShare},
};

const DataSheet& data_sheet_of(const Gpu& gpu) {
  const auto found = std::ranges::find(kDataSheets, gpu.name, &DataSheet::gpu);
  return found != kDataSheets.end() ? *found : kDataSheets.front();
}

}  // namespace

double nominal_network(const Gpu& gpu, const TimeAssumptions& assumed) {
  return assumed.network.value_or(data_sheet_of(gpu).network * kGiga);
}

Machine machine_of(const Gpu& gpu, const TimeAssumptions& assumed) {
  const DataSheet& sheet = data_sheet_of(gpu);
  return {.half_operations = sheet.share * sheet.half * kTera,
          .full_operations = sheet.share * sheet.full * kTera,
          .memory = sheet.memory * kGiga,
          .link = kLinkShare * sheet.link * kGiga,
          .network = kLinkShare * nominal_network(gpu, assumed),
          .host = kLinkShare * sheet.host * kGiga,
          .multiprocessors = gpu.multiprocessors};
}

}  // namespace highwater::timing
