#include "workloads/sources/rules/key_table.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "workloads/facts/facts.hpp"

namespace highwater {
namespace {

ReadKey reader_of(const JsonField& name, const Readers& readers) {
  const std::string_view wanted = name.view();
  for (const std::span<const NamedReader> table : readers) {
    const auto found = std::ranges::find(table, wanted, &NamedReader::name);
    if (found != table.end()) {
      return found->read;
    }
  }
  name.fail(fmt::format("there is no reader '{}' for this program", wanted));
}

std::vector<ValueWord> words_of(const JsonField& row) {
  std::vector<ValueWord> words;
  if (const auto field = row.find("words")) {
    for (const auto& [value, word] : field->object()) {
      words.push_back({value, field->at(value).view()});
    }
  }
  return words;
}

MemorySign sign_of(const JsonField& row) {
  constexpr std::array kSigns{
      std::pair{"more", MemorySign::more}, std::pair{"less", MemorySign::less},
      std::pair{"either", MemorySign::either}, std::pair{"little", MemorySign::little}};
  const JsonField field = row.at("sign");
  const auto* const found = std::ranges::find(
      kSigns, field.view(), [](const auto& sign) { return std::string_view(sign.first); });
  if (found == kSigns.end()) {
    field.fail("expected more, less, either or little");
  }
  return found->second;
}

KeyRule unsupported_rule(const JsonField& row, const JsonField& what) {
  KeyRule rule{.use = KeyRule::Use::not_supported, .text = what.view()};
  rule.sign = sign_of(row);
  rule.lacks = row.view_or_empty("lacks");
  rule.off = row.views("off");
  return rule;
}

/// What a row says of each of its keys.
KeyRule rule_of(const JsonField& row, const Readers& readers) {
  if (const auto option = row.find("becomes")) {
    return {.use = KeyRule::Use::option, .text = option->view(), .words = words_of(row)};
  }
  if (const auto name = row.find("read")) {
    return {.use = KeyRule::Use::context, .read = reader_of(*name, readers)};
  }
  if (const auto what = row.find("unsupported")) {
    return unsupported_rule(row, *what);
  }
  if (const auto why = row.find("ignored")) {
    return {.use = KeyRule::Use::no_effect, .text = why->view()};
  }
  row.fail("expected one of becomes, read, unsupported and ignored");
}

}  // namespace

KeyTable::KeyTable(const JsonField& file, const Readers& readers) {
  add_file(file, readers);
}

void KeyTable::add_file(const JsonField& file, const Readers& readers) {
  Layer layer;
  if (const auto rows = file.find("keys")) {
    for (const JsonField& row : rows->elements()) {
      KeyRule rule = rule_of(row, readers);
      for (const JsonField& key : row.at("keys").elements()) {
        rule.key = key.view();
        add_key(key, rules_.size(), layer);
        rules_.push_back(rule);
      }
    }
  }
  std::ranges::stable_sort(layer.patterns, std::greater(), &Pattern::letters);
  layers_.push_back(std::move(layer));
  if (const auto others = file.find("includes")) {
    for (const JsonField& name : others->elements()) {
      try {
        add_file(facts(fmt::format("programs/{}.json", name.view())), readers);
      } catch (const std::out_of_range&) {
        name.fail(fmt::format("there is no file '{}' to include", name.view()));
      }
    }
  }
}

void KeyTable::add_key(const JsonField& key, std::size_t rule, Layer& layer) {
  const std::string_view text = key.view();
  const auto stars = static_cast<std::size_t>(std::ranges::count(text, '*'));
  if (stars == 0) {
    if (!layer.names.try_emplace(common_key(text), rule).second) {
      key.fail(fmt::format("the key '{}' stands twice", text));
    }
  } else {
    layer.patterns.push_back({KeyPattern(text), text.size() - stars, rule});
  }
}

const KeyRule* KeyTable::find(std::string_view key) const {
  const std::string common = common_key(key);
  for (const Layer& layer : layers_) {
    if (const auto name = layer.names.find(common); name != layer.names.end()) {
      return &rules_[name->second];
    }
  }
  for (const Layer& layer : layers_) {
    const auto found = std::ranges::find_if(
        layer.patterns, [&](const Pattern& each) { return each.pattern.matches_common(common); });
    if (found != layer.patterns.end()) {
      return &rules_[found->rule];
    }
  }
  return nullptr;
}

KeyTable key_table(std::string_view name, const Readers& readers) {
  return {facts(fmt::format("programs/{}.json", name)), readers};
}

}  // namespace highwater
