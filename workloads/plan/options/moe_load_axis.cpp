#include "workloads/plan/options/moe_load_axis.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "traces/error.hpp"
#include "traces/formats/bytes/byte_source.hpp"
#include "traces/parse_text.hpp"
#include "workloads/plan/options/axes.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::axes {
namespace {

constexpr std::string_view kBusiest = "busiest:";
constexpr std::string_view kZipf = "zipf:";

double share_of(std::string_view word, const std::string& path) {
  const auto share = parse_number<double>(word);
  if (!share || !std::isfinite(*share) || *share < 0) {
    throw InputError(path, "", fmt::format("'{}' is not a share", word),
                     "write one number of 0 or more for each expert");
  }
  return *share;
}

/// Empty if there is no such file, or nothing in it.
std::vector<double> shares_in(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (error || !std::filesystem::exists(status) || std::filesystem::is_directory(status)) {
    return {};
  }
  std::string text = read_text_file(
      path, {.size = std::uint64_t{1} << 20, .remedy = "write one number for each expert"});
  std::ranges::replace(text, ',', ' ');
  std::istringstream words(text);
  std::vector<double> shares;
  for (std::string word; words >> word;) {
    shares.push_back(share_of(word, path));
  }
  return shares;
}

}  // namespace

Complaint set_moe_load(TrainingPlan& plan, std::string_view text, const AllowedValues& /*unused*/) {
  if (text == "even") {
    plan.moe_load = {};
    return std::nullopt;
  }
  if (text.starts_with(kBusiest)) {
    constexpr RealRange kTimes{1, 1e6, "of 1 or more, as in busiest:2, twice the mean"};
    const Reading<double> times = read_real(text.substr(kBusiest.size()), kTimes);
    if (times.value) {
      plan.moe_load = {.busiest = times.value};
    }
    return times.complaint;
  }
  if (text.starts_with(kZipf)) {
    constexpr RealRange kExponents{0, 100,
                                   "from 0 to 100, as in zipf:1, shares of 1, 1/2, 1/3, ..."};
    const Reading<double> exponent = read_real(text.substr(kZipf.size()), kExponents);
    if (exponent.value) {
      plan.moe_load = {.zipf = exponent.value};
    }
    return exponent.complaint;
  }
  std::string file(text);
  std::vector<double> shares = shares_in(file);
  if (shares.empty()) {
    return "no file with shares; use even, busiest:X, zipf:S or a file with a number for each "
           "expert";
  }
  plan.moe_load = {.shares = std::move(shares), .file = std::move(file)};
  return std::nullopt;
}

OptionValue get_moe_load(const TrainingPlan& plan) {
  const MoeLoad& load = plan.moe_load;
  if (load.busiest) {
    return fmt::format("{}{}", kBusiest, *load.busiest);
  }
  if (load.zipf) {
    return fmt::format("{}{}", kZipf, *load.zipf);
  }
  return load.shares.empty() ? std::string("even") : load.file;
}

}  // namespace highwater::axes
