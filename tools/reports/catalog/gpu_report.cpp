#include "tools/reports/catalog/gpu_report.hpp"

#include <vector>

#include <fmt/format.h>

#include "tools/json/members.hpp"
#include "tools/text/report.hpp"
#include "workloads/plan/gpu.hpp"

namespace highwater {
namespace {

std::string capability(const Gpu& gpu) {
  return fmt::format("{}.{}", gpu.major, gpu.minor);
}

struct GpuList {
  std::vector<Gpu> gpus;
};

}  // namespace

template <>
struct Members<Gpu> {
  static constexpr auto kRows = std::to_array({
      member<&Gpu::name>("name", "as --gpu takes it"),
      member<&Gpu::description>("description", "as its maker calls it"),
      member<&Gpu::total_memory>("total_memory_bytes", "what PyTorch reports, below what is sold"),
      member<capability>("capability", "compute capability"),
      member<&Gpu::multiprocessors>("multiprocessors", "streaming multiprocessors"),
      member<&Gpu::source>("source", "where the memory's figure is from"),
  });
};

template <>
struct Members<GpuList> {
  static constexpr auto kRows = std::to_array({
      member<&GpuList::gpus>("gpus", "in the order of --help"),
  });
};

namespace {

constexpr std::string_view kSchema = "highwater.gpus/1";

Table list_gpus() {
  using enum Align;
  static const Columns<Gpu> kColumns{
      {"", "name", left, [](const Gpu& gpu) { return std::string(gpu.name); }},
      {"", "GPU", left, [](const Gpu& gpu) { return std::string(gpu.description); }},
      {"", "memory", right, &Gpu::total_memory},
      {"", "capability", right, capability},
      {"", "SMs", right, &Gpu::multiprocessors},
      {"", "source of the memory", left, [](const Gpu& gpu) { return std::string(gpu.source); }}};
  return tabulate("", kColumns, known_gpus());
}

boost::json::array gpus_json() {
  return value_json(std::vector<Gpu>(known_gpus().begin(), known_gpus().end())).as_array();
}

}  // namespace

std::string gpu_report(OutputFormat format) {
  Report report(format, kSchema);
  report.table(list_gpus(), Gap::none);
  if (format == OutputFormat::table) {
    report.text(
        "\nMemory is what PyTorch reports, a little below what is sold. --gpu also takes other\n"
        "spellings, a size as it is sold (80GB) and a size in bytes (79.1GiB).\n");
  }
  report.csv(list_gpus);
  report.json("gpus", gpus_json);
  return report.str();
}

boost::json::object gpus_schema() {
  return answer_schema<GpuList>("gpus", kSchema);
}

}  // namespace highwater
