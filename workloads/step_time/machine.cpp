#include "workloads/step_time/machine.hpp"

#include <map>

#include <fmt/format.h>

#include "workloads/facts/facts.hpp"

namespace highwater::timing {
namespace {

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;

/// Share of a link's nominal rate that collectives reach: 78 % over NVLink 3, 80 to 82 % over
/// NVLink 4 with rings (Bekman, "Machine Learning Engineering", network, "all-reduce benchmarks"),
/// and the network's "rule of thumb" of 80 % there.
constexpr double kLinkShare = 0.80;

/// `rates` of a GPU in gpus.json, in its units; names of links and shares replaced by their values.
struct DataSheet {
  double half = 0;
  double full = 0;
  double memory = 0;
  double link = 0;
  double network = 0;
  double host = 0;
  double share = 0;
};

/// A number, or the name of a row of `links`.
double link_rate(const JsonField& rate) {
  return rate.value().is_string()
             ? facts("gpus.json").at("links").at(rate.view()).at("gigabytes").real()
             : rate.real();
}

DataSheet data_sheet(const JsonField& rates) {
  const JsonField shares = facts("gpus.json").at("matmul_shares");
  return {.half = rates.at("half").real(),
          .full = rates.at("full").real(),
          .memory = rates.at("memory").real(),
          .link = link_rate(rates.at("link")),
          .network = link_rate(rates.at("network")),
          .host = link_rate(rates.at("host")),
          .share = shares.at(rates.at("matmul_share").view()).real()};
}

using DataSheets = std::map<std::string_view, DataSheet>;

/// By the GPU's name; GPUs without rates have none.
DataSheets read_data_sheets() {
  DataSheets sheets;
  for (const JsonField& row : facts("gpus.json").at("gpus").elements()) {
    if (const auto rates = row.find("rates")) {
      sheets.emplace(row.at("name").view(), data_sheet(*rates));
    } else if (row.at("name").view() == default_gpu().name) {
      row.fail("the first GPU stands for those without rates, so it needs rates of its own");
    }
  }
  return sheets;
}

const DataSheets& data_sheets() {
  static const DataSheets kSheets = read_data_sheets();
  return kSheets;
}

const DataSheet& data_sheet_of(const Gpu& gpu) {
  return data_sheets().at(has_rates(gpu) ? gpu.name : default_gpu().name);
}

}  // namespace

bool has_rates(const Gpu& gpu) {
  return data_sheets().contains(gpu.name);
}

std::string assumed_rates(const Gpu& gpu) {
  return has_rates(gpu) ? ""
                        : fmt::format("no rates are known for {}; those of {} are assumed",
                                      gpu.name, default_gpu().name);
}

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
