#include "tools/edits/edit_sites.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "sim/peak/holders.hpp"
#include "tools/text/name_pattern.hpp"
#include "tools/text/safe_text.hpp"
#include "tools/text/site_label.hpp"
#include "traces/edit_distance.hpp"
#include "traces/error.hpp"
#include "traces/parse_text.hpp"

namespace highwater {
namespace {

constexpr std::size_t kListed = 8;

bool has_allocation(const SiteSet& sites, const RequestTrace& trace) {
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::alloc && sites.contains(event.stack)) {
      return true;
    }
  }
  return false;
}

/// Bytes requested by each site over the whole run, the most first.
std::vector<Holder<std::string>> sites_of(const RequestTrace& trace) {
  std::vector<Bytes> bytes(trace.tables.stacks.stack_count() + 1);
  std::vector<std::uint64_t> blocks(bytes.size());
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::alloc) {
      const std::size_t i = event.stack.has_value() ? event.stack.index() : bytes.size() - 1;
      bytes[i] += event.bytes();
      ++blocks[i];
    }
  }
  HolderSums<std::string> sums;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (blocks[i] != 0) {
      const StackId stack = i + 1 == bytes.size() ? StackId::none() : StackId{i};
      sums.add(site_label(trace.tables, stack), bytes[i], blocks[i]);
    }
  }
  return sums.largest_first();
}

/// The word of a site's name that `pattern` was probably meant to be.
std::optional<std::string> meant_word(std::string_view pattern,
                                      const std::vector<Holder<std::string>>& sites) {
  std::vector<std::string> words;
  for (const Holder<std::string>& site : sites) {
    std::string name = site.origin;
    std::ranges::replace_if(
        name, [](char c) { return c == '(' || c == ')' || c == ':'; }, ' ');
    std::ranges::move(split(name, ' '), std::back_inserter(words));
  }
  return nearest_word(pattern, words);
}

[[noreturn]] void refuse(std::string_view pattern, const RequestTrace& trace) {
  const std::vector<Holder<std::string>> sites = sites_of(trace);
  std::string listed;
  for (const Holder<std::string>& site : std::span(sites).first(std::min(kListed, sites.size()))) {
    listed += fmt::format("{}'{}' ({} in {} blocks)", listed.empty() ? "" : ", ", site.origin,
                          to_iec(site.held), site.blocks);
  }
  const std::string more =
      sites.size() > kListed ? fmt::format(" and {} more", sites.size() - kListed) : "";
  const auto meant = meant_word(pattern, sites);
  throw UsageError(printable(
      sites.empty()
          ? std::string("the run has no allocations")
          : fmt::format("no allocation was made at '{}'; {}the run's sites are {}{}", pattern,
                        meant ? fmt::format("did you mean '{}'? ", *meant) : "", listed, more)));
}

}  // namespace

SiteSet sites_matching(std::string_view pattern, const RequestTrace& trace) {
  SiteSet sites;
  sites.stacks.resize(trace.tables.stacks.stack_count());
  for (std::size_t i = 0; i < sites.stacks.size(); ++i) {
    sites.stacks[i] = matches_any(site_label(trace.tables, StackId{i}), pattern);
  }
  sites.without_stack = matches_any(kNoSite, pattern);
  if (!has_allocation(sites, trace)) {
    refuse(pattern, trace);
  }
  return sites;
}

}  // namespace highwater
