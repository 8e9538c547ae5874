#include "traces/formats/snapshot/snapshot_builder.hpp"

#include <algorithm>
#include <array>

namespace highwater::detail {
namespace {

bool is_frame(PickleValue value) {
  return value.is(kFrame);
}

bool is_named_by_memo(PickleValue value) {
  return (value.is(PickleKind::new_list) || value.is(PickleKind::new_dict)) && value.payload() != 0;
}

constexpr PickleAdvice kAdvice{
    .write_again = "write the snapshot again with torch.cuda.memory._dump_snapshot(file)",
    .right_file = "use the .pickle file that torch.cuda.memory._dump_snapshot(file) wrote",
    .damaged = "the file is corrupt or not a snapshot: copy it again, or record it again",
    .implausible = "not a valid PyTorch snapshot: record it again",
};

KeySet keys_of(std::span<const PickleValue> items) {
  KeySet keys;
  for (std::size_t i = 0; i < items.size(); i += 2) {
    keys.insert(word_of(items[i]));
  }
  return keys;
}

}  // namespace

PickleValue SnapshotBuilder::set_items(PickleValue dict, std::span<const PickleValue> items) {
  const PickleValue now = store_.objects.current(dict);
  if (items.empty()) {
    return now;
  }
  if (now.is(PickleKind::new_dict) || now.is(PickleKind::dict)) {
    return replace(dict, give_shape(now, keys_of(items), items));
  }
  set_fields(now, items);
  return now;
}

PickleValue SnapshotBuilder::set_plain_items(PickleValue dict, std::span<const PickleValue> items) {
  const PickleValue now = store_.objects.current(dict);
  if (!now.is(PickleKind::new_dict) && !now.is(PickleKind::dict)) {
    throw FieldProblem{"", "dict items are put into " + store_.describe(now)};
  }
  return replace(dict, add_plain(now, keys_of(items), items));
}

PickleValue SnapshotBuilder::add_plain(PickleValue dict, KeySet keys,
                                       std::span<const PickleValue> items) {
  const bool is_new = dict.is(PickleKind::new_dict);
  return store_.objects.add(is_new ? store_.objects.make_dict(keys.bits()) : dict, items);
}

// Updates everything that refers to `container` by its memo slot.
PickleValue SnapshotBuilder::replace(PickleValue container, PickleValue filled) {
  if (is_named_by_memo(container)) {
    store_.objects.replace_memo(container.payload() - 1, filled);
  }
  return filled;
}

PickleValue SnapshotBuilder::give_shape(PickleValue dict, KeySet keys,
                                        std::span<const PickleValue> items) {
  const bool is_new = dict.is(PickleKind::new_dict);
  if (!is_new) {
    keys.merge(KeySet::of_bits(store_.objects.marks(dict)));
    store_.objects.marks(dict) = keys.bits();
  }
  const PickleValue record = make_record(keys);
  if (record.is(PickleKind::absent)) {
    return add_plain(dict, keys, items);
  }
  if (!is_new) {
    set_fields(record, store_.objects.items_of(dict));
    store_.objects.become(dict, record);
  }
  set_fields(record, items);
  return record;
}

PickleValue SnapshotBuilder::make_record(KeySet keys) {
  if (keys.has(Word::action)) {
    return PickleValue{kEntry, store_.entries.push_back(kNewEntry)};
  }
  if (keys.has(Word::filename)) {
    return store_.stacks.make_frame();
  }
  if (keys.has(Word::blocks) || keys.has(Word::total_size)) {
    store_.segments.emplace_back();
    return PickleValue{kSegment, store_.segments.size() - 1};
  }
  if (keys.has(Word::state) && keys.has(Word::size)) {
    store_.blocks.emplace_back();
    return PickleValue{kBlock, store_.blocks.size() - 1};
  }
  return {};
}

PickleValue SnapshotBuilder::append(PickleValue list, std::span<const PickleValue> items,
                                    std::uint64_t bytes_read) {
  const PickleValue now = store_.objects.current(list);
  if (!now.is(PickleKind::new_list) || items.empty()) {
    return extend(now, items, bytes_read);
  }
  const PickleValue filled = std::ranges::all_of(items, is_frame)
                                 ? store_.stacks.make_stack(items, store_.texts)
                                 : store_.objects.make_list(items);
  return replace(list, filled);
}

PickleValue SnapshotBuilder::extend(PickleValue list, std::span<const PickleValue> items,
                                    std::uint64_t bytes_read) {
  if (list.is(kStack)) {
    if (!std::ranges::all_of(items, is_frame)) {
      throw FieldProblem{"", "a list of stack frames holds something else"};
    }
    store_.stacks.extend(list, items, store_.texts, bytes_read);
    return list;
  }
  if (!list.is(PickleKind::list) && !list.is(PickleKind::new_list)) {
    throw FieldProblem{"", "list items are put into " + store_.describe(list)};
  }
  for (const PickleValue item : items) {
    store_.objects.append(list, item);
  }
  return list;
}

bool SnapshotBuilder::is_any_list(PickleValue value) const {
  value = store_.objects.current(value);
  return value.is(PickleKind::list) || value.is(PickleKind::new_list) || value.is(kStack);
}

bool SnapshotBuilder::is_any_dict(PickleValue value) const {
  return value.is(PickleKind::new_dict) || value.is(PickleKind::dict) ||
         (value.is_record() && !value.is(kStack));
}

// The key lies right below its list, and below the lists of all devices in device_traces.
PickleKind SnapshotBuilder::items_of_list(std::span<const PickleValue> stack) const {
  if (stack.size() < 2 || !is_any_list(stack.back())) {
    return PickleKind::absent;
  }
  switch (word_of(stack[stack.size() - 2])) {
    case Word::segments:
      return kSegment;
    case Word::blocks:
      return kBlock;
    case Word::frames:
      return kFrame;
    case Word::device_traces:
      return PickleKind::list;
    default:
      break;
  }
  std::size_t key = stack.size() - 2;
  const std::size_t last = key - std::min<std::size_t>(key, kMaxDevices);
  while (key > last && is_any_list(stack[key])) {
    --key;
  }
  return word_of(stack[key]) == Word::device_traces ? kEntry : PickleKind::absent;
}

// A dict gets its kind with its contents, after it came, and a container with one item gets it
// without a mark of its own.
bool SnapshotBuilder::may_come(PickleKind kind, PickleValue before, PickleValue item) const {
  const bool is_list_of_lists = kind == PickleKind::list;
  if (before.is(PickleKind::absent)) {
    return is_list_of_lists ? is_any_list(item) : is_any_dict(item);
  }
  if (is_list_of_lists && is_any_list(before)) {
    return is_any_list(item) || is_any_dict(item);
  }
  return !is_any_dict(before) || is_any_dict(item) || item.is(PickleKind::text);
}

void SnapshotBuilder::check_item(PickleKind kind, PickleValue before, PickleValue item) const {
  if (!may_come(kind, before, item)) {
    const std::string expected =
        kind == PickleKind::list ? "a list of trace entries" : store_.describe(PickleValue{kind});
    throw FieldProblem{
        "", "expected " + expected + ", found " + store_.describe(store_.objects.current(item))};
  }
}

bool SnapshotBuilder::is_unused_place(std::string_view path) const {
  constexpr std::array<std::string_view, 5> kUsed{"segments", "device_traces", "blocks", "frames",
                                                  "history"};
  while (!path.empty()) {
    const std::string_view step = path.substr(0, path.find('.'));
    const std::string_view key = step.substr(0, step.find('['));
    if (!key.empty() && std::ranges::find(kUsed, key) == kUsed.end()) {
      return true;
    }
    path.remove_prefix(std::min(path.size(), step.size() + 1));
  }
  return false;
}

const PickleAdvice& SnapshotBuilder::advice() const {
  return kAdvice;
}

}  // namespace highwater::detail
