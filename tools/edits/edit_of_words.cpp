#include "tools/edits/edit_of_words.hpp"

#include <algorithm>
#include <utility>

#include "tools/edits/capture_words.hpp"
#include "tools/edits/edit_sites.hpp"
#include "traces/parse_text.hpp"
#include "traces/units.hpp"

namespace highwater {
namespace {

std::uint64_t number_of(const EditWords& words, std::string_view key, std::uint64_t standard) {
  const std::string* const value = words.find(key);
  return value == nullptr ? standard : parse_number<std::uint64_t>(*value).value();
}

SiteSet sites_of(const EditWords& words, const RequestTrace& trace) {
  const std::string* const pattern = words.find("site");
  return sites_matching(pattern == nullptr ? std::string_view("*") : *pattern, trace);
}

Edit empty_caches(const EditWords& words) {
  const std::string* const unit = words.find("of");
  return EmptyCaches{unit != nullptr && *unit == "allocations" ? EmptyCaches::Unit::allocations
                                                               : EmptyCaches::Unit::steps,
                     number_of(words, "every", 1)};
}

Edit move(const EditWords& words, const RequestTrace& trace) {
  if (const std::string* const pool = words.find("pool")) {
    return MoveToPool{sites_of(words, trace),
                      *pool == "default" ? PoolId{} : PoolId{0, number_of(words, "pool", 0)}};
  }
  return MoveToStream{sites_of(words, trace), number_of(words, "stream", 0)};
}

Edit arrange_captures(const EditWords& words) {
  using Pools = ArrangeCaptures::Pools;
  using Order = ArrangeCaptures::Order;
  using Lists = std::vector<std::vector<std::size_t>>;
  ArrangeCaptures edit;
  if (const std::string* const pools = words.find("pools")) {
    edit.pools = *pools == "kept"  ? Pools::kept
                 : *pools == "own" ? Pools::own
                 : *pools == "one" ? Pools::one
                                   : Pools::listed;
    edit.together = parse_capture_lists(*pools).value_or(edit.together);
  }
  if (const std::string* const order = words.find("order")) {
    edit.order_by = *order == "kept"       ? Order::kept
                    : *order == "largest"  ? Order::largest_first
                    : *order == "smallest" ? Order::smallest_first
                                           : Order::listed;
    for (const std::vector<std::size_t>& list : parse_capture_lists(*order).value_or(Lists{})) {
      edit.order.insert(edit.order.end(), list.begin(), list.end());
    }
  }
  if (const std::string* const streams = words.find("streams")) {
    using Streams = ArrangeCaptures::Streams;
    edit.streams = *streams == "own"   ? Streams::own
                   : *streams == "one" ? Streams::one
                                       : Streams::kept;
  }
  return edit;
}

Edit then(const EditWords& words, const RunReader& read) {
  const std::string* const left = words.find("left");
  return ThenRun{read(*words.find("file")).trace,
                 left != nullptr && *left == "kept" ? ThenRun::Left::kept : ThenRun::Left::freed};
}

BesideRun::Order order_of(const EditWords& words) {
  using Order = BesideRun::Order;
  const std::string* const order = words.find("order");
  return order == nullptr    ? Order::automatic
         : *order == "clock" ? Order::clock
         : *order == "start" ? Order::start
                             : Order::share;
}

Edit beside(const EditWords& words, const RunReader& read) {
  OtherRun other = read(*words.find("file"));
  const std::string* const context = words.find("context");
  BesideRun edit;
  edit.neighbour = {.run = std::move(other.trace),
                    .settings = std::move(other.settings),
                    .version = other.version,
                    .context = context == nullptr ? other.context : *parse_bytes(*context),
                    .turns = {}};
  edit.times = std::move(other.times);
  edit.order = order_of(words);
  return edit;
}

struct EditMaker {
  std::string_view name;
  Edit (*make)(const EditWords& words, const RequestTrace& trace, const RunReader& read);
};

constexpr EditMaker kMakers[] = {
    {"preallocate",
     [](const EditWords& words, const RequestTrace&, const RunReader&) -> Edit {
       return Preallocate{*parse_bytes(*words.find("size")), number_of(words, "stream", 0)};
     }},
    {"empty_cache", [](const EditWords& words, const RequestTrace&,
                       const RunReader&) { return empty_caches(words); }},
    {"drop_record_stream",
     [](const EditWords& words, const RequestTrace& trace, const RunReader&) -> Edit {
       return DropRecordStreams{sites_of(words, trace)};
     }},
    {"free_earlier",
     [](const EditWords& words, const RequestTrace& trace, const RunReader&) -> Edit {
       return FreeEarlier{sites_of(words, trace), number_of(words, "by", 1)};
     }},
    {"free_at_last_use",
     [](const EditWords& words, const RequestTrace& trace, const RunReader&) -> Edit {
       return FreeAtLastUse{sites_of(words, trace)};
     }},
    {"move", [](const EditWords& words, const RequestTrace& trace,
                const RunReader&) { return move(words, trace); }},
    {"scale",
     [](const EditWords& words, const RequestTrace& trace, const RunReader&) -> Edit {
       return ScaleSizes{sites_of(words, trace), *parse_number<double>(*words.find("by"))};
     }},
    {"drop_step",
     [](const EditWords& words, const RequestTrace&, const RunReader&) -> Edit {
       return DropStep{number_of(words, "step", 0)};
     }},
    {"repeat_step",
     [](const EditWords& words, const RequestTrace&, const RunReader&) -> Edit {
       return RepeatStep{number_of(words, "step", 0), number_of(words, "times", 2)};
     }},
    {"captures", [](const EditWords& words, const RequestTrace&,
                    const RunReader&) { return arrange_captures(words); }},
    {"then", [](const EditWords& words, const RequestTrace&,
                const RunReader& read) { return then(words, read); }},
    {"beside", [](const EditWords& words, const RequestTrace&,
                  const RunReader& read) { return beside(words, read); }},
};

}  // namespace

Edit edit_of(const EditWords& words, const RequestTrace& trace, const RunReader& read) {
  const auto* const maker = std::ranges::find(kMakers, words.kind->name, &EditMaker::name);
  return maker->make(words, trace, read);
}

}  // namespace highwater
