#include "tools/options/ddp_options.hpp"

#include <array>

#include <fmt/format.h>

#include "tools/options/plan_words.hpp"

namespace highwater {
namespace {

constexpr std::array kCommHooks{
    Word{"none", DdpCommHook::none}, Word{"allreduce", DdpCommHook::allreduce},
    Word{"fp16-compress", DdpCommHook::fp16_compress},
    Word{"bf16-compress", DdpCommHook::bf16_compress}, Word{"powersgd", DdpCommHook::powersgd}};

std::string yes_no(bool yes) {
  return yes ? "true" : "false";
}

constexpr std::int64_t kMostRank = 1 << 20;
constexpr std::int64_t kMostIterations = 1'000'000'000;

}  // namespace

void add_ddp_options(OptionParser& parser) {
  parser.add()("find-unused-parameters", flag_value(),
               "DDP looks for parameters without gradients in each forward")(
      "ddp-comm-hook", text_value("HOOK"),
      (choices(kCommHooks) + "; what reduces DDP's buckets").c_str())(
      "powersgd-rank", text_value("N"), "matrix_approximation_rank")(
      "powersgd-start-iter", text_value("N"),
      "backwards that are plainly all-reduced first (start_powerSGD_iter)")(
      "powersgd-min-rate", text_value("X"),
      "matrices that shrink by less stay whole (min_compression_rate)")(
      "powersgd-error-feedback", flag_value(),
      "what was lost is added the next time (use_error_feedback)")(
      "powersgd-warm-start", flag_value(), "P and Q are used again (warm_start)");
}

void read_ddp_options(PlanReader& reader, Ddp& ddp) {
  reader.word("find-unused-parameters", kYesNo, ddp.find_unused);
  reader.word("ddp-comm-hook", kCommHooks, ddp.comm_hook);
  reader.count("powersgd-rank", ddp.power_sgd.rank, 1, kMostRank);
  reader.count("powersgd-start-iter", ddp.power_sgd.start_iter, 0, kMostIterations);
  ddp.power_sgd.min_compression_rate = reader.real("powersgd-min-rate", 1e-6, 1e9, "above 0")
                                           .value_or(ddp.power_sgd.min_compression_rate);
  reader.word("powersgd-error-feedback", kYesNo, ddp.power_sgd.error_feedback);
  reader.word("powersgd-warm-start", kYesNo, ddp.power_sgd.warm_start);
}

std::vector<std::pair<std::string, std::string>> ddp_words(const Ddp& ddp) {
  const PowerSgd& sgd = ddp.power_sgd;
  return {{"find-unused-parameters", yes_no(ddp.find_unused)},
          {"ddp-comm-hook", std::string(word_of(kCommHooks, ddp.comm_hook))},
          {"powersgd-rank", std::to_string(sgd.rank)},
          {"powersgd-start-iter", std::to_string(sgd.start_iter)},
          {"powersgd-min-rate", fmt::format("{}", sgd.min_compression_rate)},
          {"powersgd-error-feedback", yes_no(sgd.error_feedback)},
          {"powersgd-warm-start", yes_no(sgd.warm_start)}};
}

}  // namespace highwater
