#include "traces/formats/pickle/pickle_objects.hpp"

#include <bit>
#include <limits>

#include <fmt/format.h>

namespace highwater::detail {

PickleValue PickleObjects::integer(std::int64_t value) {
  if (PickleValue::fits_inline(value)) [[likely]] {
    return PickleValue::small_integer(value);
  }
  return box(PickleKind::wide_signed, static_cast<std::uint64_t>(value));
}

PickleValue PickleObjects::unsigned_integer(std::uint64_t value) {
  constexpr auto kMaxSigned = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return value <= kMaxSigned ? integer(static_cast<std::int64_t>(value))
                             : box(PickleKind::wide_unsigned, value);
}

PickleValue PickleObjects::real(double value) {
  return box(PickleKind::real, std::bit_cast<std::uint64_t>(value));
}

PickleValue PickleObjects::box(PickleKind kind, std::uint64_t bits) {
  boxes_.push_back(bits);
  return PickleValue{kind, boxes_.size() - 1};
}

std::optional<std::int64_t> PickleObjects::as_signed(PickleValue value) const {
  if (value.is(PickleKind::integer)) [[likely]] {
    return value.small_integer();
  }
  if (value.is(PickleKind::wide_signed)) {
    return static_cast<std::int64_t>(boxes_[row(value)]);
  }
  return std::nullopt;
}

std::optional<std::uint64_t> PickleObjects::as_bits(PickleValue value) const {
  if (value.is(PickleKind::wide_unsigned)) {
    return boxes_[row(value)];
  }
  const auto number = as_signed(value);
  return number ? std::optional(static_cast<std::uint64_t>(*number)) : std::nullopt;
}

std::optional<double> PickleObjects::as_real(PickleValue value) const {
  if (value.is(PickleKind::real)) {
    return std::bit_cast<double>(boxes_[row(value)]);
  }
  const auto number = as_signed(value);
  return number ? std::optional(static_cast<double>(*number)) : std::nullopt;
}

// Pairs of integers are pool ids, one per segment or even per entry; each distinct one is stored
// once.
PickleValue PickleObjects::make_tuple(std::span<const PickleValue> items) {
  if (items.size() != 2 || !items[0].is(PickleKind::integer) || !items[1].is(PickleKind::integer)) {
    return items.empty() ? PickleValue{PickleKind::new_list} : make_list(items);
  }
  const std::array ids{items[0].small_integer(), items[1].small_integer()};
  const auto [at, inserted] = id_pair_rows_.emplace(ids, id_pairs_.size());
  if (inserted) {
    id_pairs_.push_back(ids);
  }
  return PickleValue{PickleKind::id_pair, at->second};
}

std::optional<std::array<std::int64_t, 2>> PickleObjects::as_pair(PickleValue value) const {
  return value.is(PickleKind::id_pair) ? std::optional(id_pairs_[row(value)]) : std::nullopt;
}

PickleValue PickleObjects::make_list(std::span<const PickleValue> items) {
  lists_.emplace_back();
  const PickleValue list{PickleKind::list, lists_.size() - 1};
  for (const PickleValue item : items) {
    append(list, item);
  }
  return list;
}

void PickleObjects::append(PickleValue list, PickleValue item) {
  List& to = lists_[row(list)];
  item = current(item);
  ++to.size;
  if (to.last != kNoRow) {
    Run& run = runs_[to.last];
    if (item.is_record() && run.first.plus(run.count) == item) {
      ++run.count;
      return;
    }
    run.next = runs_.size();
  }
  to.last = runs_.size();
  to.first = to.first == kNoRow ? to.last : to.first;
  runs_.push_back({item});
}

std::uint64_t PickleObjects::list_size(PickleValue list) const {
  return list.is(PickleKind::list) ? lists_[row(list)].size : 0;
}

PickleValue PickleObjects::front(PickleValue list) const {
  list = current(list);
  return list_size(list) == 0 ? PickleValue{} : current(runs_[lists_[row(list)].first].first);
}

PickleValue PickleObjects::make_dict(std::uint64_t marks) {
  dicts_.emplace_back().marks = marks;
  return PickleValue{PickleKind::dict, dicts_.size() - 1};
}

PickleValue PickleObjects::add(PickleValue dict, std::span<const PickleValue> items) {
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    add_pair(dict, items[i], items[i + 1]);
  }
  return dict;
}

void PickleObjects::add_pair(PickleValue dict, PickleValue key, PickleValue value) {
  Dict& to = dicts_[row(dict)];
  if (to.last != kNoRow) {
    pairs_[to.last].next = pairs_.size();
  }
  to.last = pairs_.size();
  to.first = to.first == kNoRow ? to.last : to.first;
  pairs_.push_back({key, value});
}

void PickleObjects::become(PickleValue dict, PickleValue record) {
  dicts_[row(dict)].shaped = record;
}

std::vector<PickleValue> PickleObjects::items_of(PickleValue dict) const {
  std::vector<PickleValue> items;
  if (dict.is(PickleKind::dict)) {
    std::size_t at = dicts_[row(dict)].first;
    for (; at != kNoRow; at = pairs_[at].next) {
      items.push_back(current(pairs_[at].key));
      items.push_back(current(pairs_[at].value));
    }
  }
  return items;
}

std::string PickleObjects::describe(PickleValue value) const {
  if (const auto number = as_bits(value)) {
    return value.is(PickleKind::wide_unsigned)
               ? fmt::format("the number {}", *number)
               : fmt::format("the number {}", static_cast<std::int64_t>(*number));
  }
  switch (value.kind()) {
    case PickleKind::text:
      return "a string";
    case PickleKind::boolean:
      return value.payload() != 0 ? "True" : "False";
    case PickleKind::real:
      return "a floating-point number";
    case PickleKind::id_pair:
      return "a tuple";
    case PickleKind::list:
    case PickleKind::new_list:
      return "a list";
    case PickleKind::dict:
    case PickleKind::new_dict:
      return "a dict";
    default:
      return value.is_record() ? "" : "None";
  }
}

std::uint64_t PickleObjects::memory() const {
  constexpr std::uint64_t kMapNode = 64;
  return boxes_.capacity() * sizeof(std::uint64_t) + runs_.capacity() * sizeof(Run) +
         lists_.capacity() * sizeof(List) + pairs_.capacity() * sizeof(Pair) +
         dicts_.capacity() * sizeof(Dict) + memo_.size() * sizeof(PickleValue) +
         id_pairs_.capacity() * (sizeof(id_pairs_.front()) + kMapNode);
}

PickleObjects::Memoized PickleObjects::memoize(std::uint64_t slot, PickleValue value) {
  while (memo_.size() <= slot) {
    memo_.push_back(PickleValue{});
  }
  PickleValue& at = memo_[static_cast<std::size_t>(slot)];
  if (!at.is(PickleKind::absent)) {
    return Memoized::slot_taken;
  }
  at = value;
  ++memo_count_;
  return Memoized::yes;
}

void PickleObjects::replace_memo(std::uint64_t slot, PickleValue value) {
  memo_[static_cast<std::size_t>(slot)] = value;
}

}  // namespace highwater::detail
