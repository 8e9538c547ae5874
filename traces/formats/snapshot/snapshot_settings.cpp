#include "traces/formats/snapshot/snapshot_settings.hpp"

#include <charconv>

#include <fmt/format.h>

#include "traces/formats/pickle/pickle_path.hpp"

namespace highwater::detail {
namespace {

std::vector<PickleValue> dict_items(const SnapshotStore& store, PickleValue dict, Word key) {
  dict = store.objects.current(dict);
  if (!dict.is(PickleKind::dict) && !dict.is(PickleKind::new_dict)) {
    store.refuse(key, "a dict", dict);
  }
  return store.objects.items_of(dict);
}

// "1", "2", "4", ... "32768": MiB buckets.
std::map<std::uint64_t, std::uint64_t> divisions(const SnapshotStore& store, PickleValue dict) {
  std::map<std::uint64_t, std::uint64_t> by_bucket;
  const auto items = dict_items(store, dict, Word::roundup_power2_divisions);
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    const std::string_view text = store.texts[store.text(Word::roundup_power2_divisions, items[i])];
    std::uint64_t bucket = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bucket);
    if (error != std::errc{} || end != text.data() + text.size()) {
      store.refuse(Word::roundup_power2_divisions, "keys that are numbers of MiB", items[i]);
    }
    by_bucket[bucket] = store.natural(Word::roundup_power2_divisions, items[i + 1]);
  }
  return by_bucket;
}

double real(const SnapshotStore& store, Word key, PickleValue value) {
  const auto number = store.objects.as_real(value);
  if (!number) {
    store.refuse(key, "a number", value);
  }
  return *number;
}

// -1 is "unlimited", in C++ the largest size_t.
std::int64_t signed_size(const SnapshotStore& store, Word key, PickleValue value) {
  const auto bits = store.objects.as_bits(value);
  if (!bits) {
    store.refuse(key, "a 64-bit number", value);
  }
  return static_cast<std::int64_t>(*bits);
}

void set(SnapshotStore& store, RecordedSettings& settings, PickleValue key, PickleValue value) {
  const Word word = word_of(key);
  switch (word) {
    case Word::cuda_conf:
    case Word::conf:
      settings.conf = store.texts[store.text(word, value)];
      return;
    case Word::max_split_size:
      settings.max_split_size = signed_size(store, word, value);
      return;
    case Word::garbage_collection_threshold:
      settings.garbage_collection_threshold = real(store, word, value);
      return;
    case Word::expandable_segments:
      settings.expandable_segments = store.boolean(word, value);
      return;
    case Word::roundup_power2_divisions:
      settings.roundup_power2_divisions = divisions(store, value);
      return;
    case Word::pinned_num_register_threads:
    case Word::release_lock_on_cudamalloc:
    case Word::pinned_use_cuda_host_register:
    case Word::graph_capture_record_stream_reuse:
    case Word::max_cached_size:
    case Word::max_round_threshold:
      return;
    default:
      store.count_unknown_key(KeyOwner::settings, key);
  }
}

void set(SnapshotStore& store, Annotation& annotation, PickleValue key, PickleValue value) {
  const Word word = word_of(key);
  switch (word) {
    case Word::name:
      annotation.name = store.texts[store.text(word, value)];
      return;
    case Word::stage:
      annotation.is_start = word_of(store.text(word, value)) != Word::end;
      return;
    case Word::device:
      annotation.device = store.device_index(value);
      return;
    case Word::time_us:
      annotation.time_us = store.integer(word, value);
      return;
    case Word::trace_index:
      annotation.entry = store.natural(word, value);
      return;
    default:
      store.count_unknown_key(KeyOwner::annotation, key);
  }
}

Annotation annotation(SnapshotStore& store, PickleValue dict, ExpansionBudget& budget) {
  Annotation annotation;
  const auto items = dict_items(store, dict, Word::external_annotations);
  budget.spend(sizeof(Annotation));
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    set(store, annotation, items[i], items[i + 1]);
  }
  budget.spend(sizeof(char), annotation.name.size());
  return annotation;
}

}  // namespace

RecordedSettings assemble_settings(SnapshotStore& store, PickleValue dict, KeySet& keys) {
  RecordedSettings settings;
  const auto items = dict_items(store, dict, Word::allocator_settings);
  try {
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      keys.insert(word_of(items[i]));
      set(store, settings, items[i], items[i + 1]);
    }
  } catch (const FieldProblem& problem) {
    throw PathProblem{join_path("allocator_settings", problem.field), problem.problem};
  }
  return settings;
}

std::vector<Annotation> assemble_annotations(SnapshotStore& store, PickleValue list,
                                             ExpansionBudget& budget) {
  std::vector<Annotation> annotations;
  list = store.list(Word::external_annotations, list);
  store.objects.for_each_item(list, [&](PickleValue value) {
    try {
      annotations.push_back(annotation(store, value, budget));
    } catch (const FieldProblem& problem) {
      throw PathProblem{
          join_path(fmt::format("external_annotations[{}]", annotations.size()), problem.field),
          problem.problem};
    }
  });
  return annotations;
}

}  // namespace highwater::detail
