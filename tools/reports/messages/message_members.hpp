// The keys of a message of an error out of memory.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "tools/json/members.hpp"
#include "tools/messages/message_cause.hpp"
#include "tools/reports/messages/message_sentences.hpp"
#include "tools/text/safe_text.hpp"

namespace highwater {

/// A message with what its figures prove.
struct JudgedMessage {
  OomMessage message;
  MessageCause cause;
};

namespace detail {

template <auto kFigure>
std::optional<std::int64_t> figure_bytes(const MessageFigures& of) {
  const std::optional<PrintedSize>& size = of.*kFigure;
  return size ? std::optional(size->bytes) : std::nullopt;
}

inline std::int64_t middle_bytes(SizeRange range) {
  return range.low + (range.high - range.low) / 2;
}

}  // namespace detail

template <>
struct Members<ListedProcess> {
  static constexpr auto kRows = std::to_array({
      member<&ListedProcess::number>("process", "its number, outside of containers"),
      member<[](const ListedProcess& of) { return of.in_use.bytes; }>("bytes",
                                                                      "in use on the device"),
  });
};

template <>
struct Members<MessageFigures> {
  static constexpr auto kRows = std::to_array({
      member<detail::figure_bytes<&MessageFigures::asked>>("asked_bytes",
                                                           "the segment that the device refused"),
      member<detail::figure_bytes<&MessageFigures::total>>("device_bytes", "of the whole device"),
      member<detail::figure_bytes<&MessageFigures::free>>("device_free_bytes",
                                                          "free on the device"),
      member<detail::figure_bytes<&MessageFigures::allocated>>("allocated_bytes",
                                                               "in use by tensors"),
      member<[](const MessageFigures& of) -> std::optional<std::int64_t> {
        const auto reserved = of.reserved_range();
        return reserved ? std::optional(detail::middle_bytes(*reserved)) : std::nullopt;
      }>("reserved_bytes", "taken from the device by PyTorch"),
      member<detail::figure_bytes<&MessageFigures::allowed>>("allowed_bytes",
                                                             "by a memory fraction"),
      member<detail::figure_bytes<&MessageFigures::private_pools>>(
          "private_pools_bytes", "free in private pools, and part of allocated"),
      member<detail::figure_bytes<&MessageFigures::in_use>>(
          "process_bytes", "in use by this process, with what is outside PyTorch"),
      member<&MessageFigures::processes>("processes", "that the message lists"),
  });
};

template <>
struct Members<BesidePytorch> {
  static constexpr auto kRows = std::to_array({
      member<[](const BesidePytorch& of) { return detail::middle_bytes(of.all); }>(
          "bytes", "on the device outside PyTorch's segments"),
      member<[](const BesidePytorch& of) {
        return of.own ? std::optional(detail::middle_bytes(*of.own)) : std::nullopt;
      }>("own_bytes", "of this process"),
      member<[](const BesidePytorch& of) {
        return of.others ? std::optional(detail::middle_bytes(*of.others)) : std::nullopt;
      }>("others_bytes", "of other processes"),
  });
};

template <>
struct Members<JudgedMessage> {
  static constexpr auto kRows = std::to_array({
      member<[](const JudgedMessage& of) { return message_verdict(of.message, of.cause); }>(
          "verdict", "in a sentence"),
      member<[](const JudgedMessage& of) -> std::optional<std::string> {
        return of.message.other == nullptr && of.cause.cause
                   ? std::optional(std::string(to_string(*of.cause.cause)))
                   : std::nullopt;
      }>("cause", "null: the text does not tell"),
      member<[](const JudgedMessage& of) { return of.message.line; }>(
          "line", "of the log where it stands first"),
      member<[](const JudgedMessage& of) { return of.message.times; }>("times",
                                                                       "that it stands there"),
      member<[](const JudgedMessage& of) { return of.message.rank; }>("rank",
                                                                      "in front of its line"),
      member<[](const JudgedMessage& of) { return of.message.device; }>("device", "that it names"),
      member<[](const JudgedMessage& of) { return of.message.name; }>("printed_by",
                                                                      "an allocator or a program"),
      member<[](const JudgedMessage& of) { return release_words(of.message.releases); }>(
          "releases", "that print such a text"),
      member<[](const JudgedMessage& of) {
        return of.message.other == nullptr ? "GPU" : of.message.other->memory;
      }>("memory", "GPU or host"),
      member<[](const JudgedMessage& of) { return valid_utf8(of.message.text); }>("text",
                                                                                  "of the log"),
      member<[](const JudgedMessage& of) { return of.message.figures; }>("figures",
                                                                         "null: not in the text"),
      member<[](const JudgedMessage& of) { return beside_pytorch(of.message.figures); }>(
          "outside_pytorch", "null: not in the text"),
      member<[](const JudgedMessage& of) { return message_helps(of.message, of.cause); }>(
          "helps", "what would, or may, help"),
      member<[](const JudgedMessage& of) { return message_next(of.message, of.cause); }>(
          "next", "what to record"),
  });
};

}  // namespace highwater
