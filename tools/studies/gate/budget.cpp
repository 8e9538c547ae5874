#include "tools/studies/gate/budget.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "traces/parse_text.hpp"

namespace highwater {
namespace {

constexpr double kMostGrowth = 1000;  ///< a hundred thousand per cent

std::optional<double> parse_share(std::string_view text) {
  text.remove_suffix(1);
  while (text.ends_with(' ')) {
    text.remove_suffix(1);
  }
  const auto percent = parse_number<double>(text);
  const bool is_share = percent && *percent >= 0 && *percent <= 100 * kMostGrowth;
  return is_share ? std::optional(*percent / 100) : std::nullopt;
}

double as_number(Bytes bytes) {
  return static_cast<double>(bytes.count());
}

/// "2.00 MiB (10.0 %)"; without the share of nothing.
std::string distance_words(Bytes distance, Bytes base) {
  return base == Bytes{} ? to_iec(distance)
                         : fmt::format("{} ({:.1f} %)", to_iec(distance),
                                       100 * as_number(distance) / as_number(base));
}

}  // namespace

Bytes GrowthLimit::after(Bytes before) const {
  const Bytes room = Bytes{std::numeric_limits<std::uint64_t>::max()} - before;
  if (const auto* amount = std::get_if<Bytes>(&limit_)) {
    return before + std::min(*amount, room);
  }
  const double more = as_number(before) * std::get<double>(limit_);
  return more >= as_number(room) ? before + room : before + Bytes{static_cast<std::uint64_t>(more)};
}

std::string GrowthLimit::text() const {
  if (const auto* amount = std::get_if<Bytes>(&limit_)) {
    return to_iec(*amount);
  }
  return fmt::format("{:g} %", 100 * std::get<double>(limit_));
}

std::optional<GrowthLimit> parse_growth(std::string_view text) {
  if (text.ends_with('%')) {
    const auto share = parse_share(text);
    return share ? std::optional<GrowthLimit>(*share) : std::nullopt;
  }
  const auto amount = parse_bytes(text);
  return amount ? std::optional<GrowthLimit>(*amount) : std::nullopt;
}

Budget budget_of(Bytes most) {
  return {most, most, fmt::format("--max-reserved {}", to_iec(most)), ""};
}

Budget budget_of(Bytes before, std::string_view name, std::string_view option,
                 const GrowthLimit& growth) {
  return {before, growth.after(before), fmt::format("{} of {}", to_iec(before), name),
          fmt::format("{} {}", option, growth.text())};
}

std::string budget_words(const Budget& budget, Bytes reserved) {
  const bool is_above = reserved > budget.base;
  const Bytes distance = is_above ? reserved - budget.base : budget.base - reserved;
  std::string text =
      distance == Bytes{}
          ? fmt::format("peak reserved {} equals {}", to_iec(reserved), budget.base_name)
          : fmt::format("peak reserved {} is {} {} {}", to_iec(reserved),
                        distance_words(distance, budget.base), is_above ? "above" : "below",
                        budget.base_name);
  if (is_above && !budget.allowance.empty()) {
    text +=
        fmt::format(", {} {}", budget.admits(reserved) ? "within" : "more than", budget.allowance);
  }
  return text;
}

std::string oom_words(const ReplayResult& result) {
  const OutOfMemory& oom = result.ooms.front().account;
  return fmt::format("out of memory: {} requested with {} reserved, of which {} were allocated",
                     to_iec(oom.requested), to_iec(oom.reserved), to_iec(oom.allocated));
}

std::string with_clause(std::string sentence, std::string_view who) {
  return who.empty() ? sentence : sentence.append("; ").append(who);
}

void enforce(const BudgetVerdict& verdict) {
  if (!verdict.is_kept()) {
    throw BudgetExceeded{verdict.exceeded};
  }
}

}  // namespace highwater
