#include "tools/messages/message_facts.hpp"

#include <algorithm>
#include <iterator>

#include "workloads/facts/facts.hpp"

namespace highwater {
namespace {

constexpr const char* kFactsOfMessages = "out_of_memory.json";

ReleaseSpan releases_of(const JsonField& row) {
  return {row.view_or_empty("since"), row.view_or_empty("until")};
}

AllocatorFormat allocator_format(const JsonField& row) {
  return {row.at("name").view(), releases_of(row), MessagePattern(row.at("text").view())};
}

MessageHint message_hint(const JsonField& row) {
  return {MessagePattern(row.at("text").view()), releases_of(row)};
}

OtherFormat other_format(const JsonField& row) {
  return {row.at("name").view(), row.at("memory").view(), row.at("verdict").view(),
          row.views("helps"), MessagePattern(row.at("text").view())};
}

template <class Make>
auto rows_of(std::string_view key, Make make) {
  std::vector<decltype(make(facts(kFactsOfMessages)))> rows;
  std::ranges::transform(facts(kFactsOfMessages).at(key).elements(), std::back_inserter(rows),
                         make);
  return rows;
}

}  // namespace

const MessageFacts& message_facts() {
  static const MessageFacts kFacts{rows_of("allocator", allocator_format),
                                   rows_of("hints", message_hint), rows_of("others", other_format)};
  return kFacts;
}

}  // namespace highwater
