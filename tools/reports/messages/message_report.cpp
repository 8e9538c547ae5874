#include "tools/reports/messages/message_report.hpp"

#include <algorithm>
#include <iterator>
#include <span>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/reports/messages/message_members.hpp"
#include "tools/text/metrics.hpp"
#include "tools/text/report.hpp"
#include "tools/text/safe_text.hpp"

namespace highwater {
namespace {

std::vector<JudgedMessage> judged(const std::vector<OomMessage>& messages) {
  std::vector<JudgedMessage> result;
  std::ranges::transform(messages, std::back_inserter(result), [](const OomMessage& message) {
    return JudgedMessage{message, cause_of(message.figures)};
  });
  return result;
}

void add_message(const JudgedMessage& each, Report& report) {
  report.line("");
  report.line(message_place(each.message));
  report.line(message_verdict(each.message, each.cause));
  report.items("Evidence", message_evidence(each.message));
  report.items("What may help", message_helps(each.message, each.cause));
}

/// What to record is the same for all messages of a kind: it is said once.
void add_next(const std::vector<JudgedMessage>& messages, std::size_t shown, Report& report) {
  std::vector<std::string> lines;
  for (const JudgedMessage& each : std::span(messages).first(shown)) {
    for (std::string& line : message_next(each.message, each.cause)) {
      if (std::ranges::find(lines, line) == lines.end()) {
        lines.push_back(std::move(line));
      }
    }
  }
  report.items("What to record next", lines);
}

Table message_lines(const std::vector<JudgedMessage>& messages) {
  std::vector<MetricLine> lines;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    MetricList list;
    add_metrics(messages[i], MetricPlace{}, list);
    add_lines({std::to_string(i)}, list, lines);
  }
  return line_table({"message"}, lines);
}

void add_people(std::string_view subject, const std::vector<JudgedMessage>& messages,
                std::size_t top, Report& report) {
  const std::size_t shown = std::min(top, messages.size());
  report.line(fmt::format("{}: {}{} about memory", subject, messages.size(),
                          messages.size() == 1 ? " message" : " different messages"));
  for (const JudgedMessage& each : std::span(messages).first(shown)) {
    add_message(each, report);
  }
  if (shown < messages.size()) {
    report.line("");
    report.line(fmt::format("... {} more (--top)", messages.size() - shown));
  }
  add_next(messages, shown, report);
}

}  // namespace

std::string message_report(std::string_view subject, const std::vector<OomMessage>& messages,
                           OutputFormat format, std::size_t top) {
  Report report(format, "highwater.explain/1");
  const std::vector<JudgedMessage> all = judged(messages);
  add_people(subject, all, top, report);
  report.csv([&] { return message_lines(all); });
  report.json("devices", [] { return boost::json::array(); });
  report.json("messages", [&] { return value_json(all); });
  return report.str();
}

}  // namespace highwater
