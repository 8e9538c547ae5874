#include "tools/studies/gate/baseline.hpp"

#include <algorithm>
#include <array>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/studies/gate/memory_parts.hpp"
#include "traces/error.hpp"
#include "traces/formats/bytes/byte_source.hpp"
#include "traces/utf8.hpp"
#include "workloads/json/json_document.hpp"
#include "workloads/json/json_field.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

constexpr std::string_view kBaselineSchema = "highwater.baseline/1";

constexpr std::string_view kBaselineRemedy = "remove it, and write a new one with --accept";

/// More than any sum of real figures, and so small that sums of them do not overflow.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 56;

/// A list of shares of the peak.
struct ShareList {
  const char* key;
  std::vector<NamedShare> NamedPeak::*shares;
};

constexpr std::array<ShareList, 3> kShareLists{{{"sites", &NamedPeak::sites},
                                                {"categories", &NamedPeak::categories},
                                                {"segments", &NamedPeak::segments}}};

/// Parts of 0 bytes are left out.
json::object parts_object(const MemoryBreakdown& parts) {
  json::object object;
  for (const NamedPart& part : kMemoryParts) {
    if (parts.*part.bytes != Bytes{}) {
      object[part.key] = (parts.*part.bytes).count();
    }
  }
  return object;
}

json::object share_object(const NamedShare& share) {
  json::object object{{"name", valid_utf8(share.name.name)}, {"count", share.count}};
  if (!share.name.without_line.empty()) {
    object["without_line"] = valid_utf8(share.name.without_line);
  }
  for (auto& [key, bytes] : parts_object(share.parts)) {
    object[key] = bytes;
  }
  return object;
}

std::string member(std::string_view key, const json::value& value) {
  return fmt::format("{}: {}", json::serialize(json::string(key)), json::serialize(value));
}

std::string member(std::string_view key, std::string_view text) {
  return member(key, json::value(json::string(valid_utf8(text))));
}

std::string shares_text(std::string_view key, const std::vector<NamedShare>& shares) {
  std::string text = fmt::format(",\n      \"{}\": [", key);
  bool is_first = true;
  for (const NamedShare& share : shares) {
    if (share.count != 0) {
      text +=
          fmt::format("{}\n        {}", is_first ? "" : ",", json::serialize(share_object(share)));
      is_first = false;
    }
  }
  return text + (is_first ? "]" : "\n      ]");
}

std::string device_text(const BaselineDevice& device) {
  std::string text = "    {" + member("device", device.device) + ", ";
  text += member("torch", device.torch) + ", ";
  text += member("settings", device.settings) + ",\n      ";
  text += member("peak_reserved_bytes", device.peak.parts.total().count()) + ",\n      ";
  text += member("parts", parts_object(device.peak.parts));
  for (const ShareList& list : kShareLists) {
    text += shares_text(list.key, device.peak.*list.shares);
  }
  return text + "}";
}

std::string baseline_text(const Baseline& baseline) {
  std::string text = "{\n  " + member("schema", kBaselineSchema) + ",\n  ";
  text += member("subject", baseline.subject) + ",\n  \"devices\": [";
  for (const BaselineDevice& device : baseline.devices) {
    text += (&device == &baseline.devices.front() ? "\n" : ",\n") + device_text(device);
  }
  return text + "\n  ]\n}\n";
}

MemoryBreakdown read_parts(const JsonField& field) {
  MemoryBreakdown parts;
  for (const NamedPart& part : kMemoryParts) {
    if (const auto bytes = field.find(part.key)) {
      if (bytes->count() > kMostBytes) {
        bytes->fail("larger than any memory");
      }
      parts.*part.bytes = Bytes{bytes->count()};
    }
  }
  return parts;
}

NamedShare read_share(const JsonField& field) {
  NamedShare share;
  share.name.name = field.at("name").text();
  share.count = field.at("count").count();
  share.parts = read_parts(field);
  if (const auto without_line = field.find("without_line")) {
    share.name.without_line = without_line->text();
  }
  return share;
}

BaselineDevice read_device(const JsonField& field) {
  BaselineDevice device;
  device.device = field.at("device").small_count();
  device.torch = field.at("torch").text();
  device.settings = field.at("settings").text();
  device.peak.parts = read_parts(field.at("parts"));
  for (const ShareList& list : kShareLists) {
    for (const JsonField& share : field.at(list.key).elements()) {
      (device.peak.*list.shares).push_back(read_share(share));
    }
  }
  const JsonField total = field.at("peak_reserved_bytes");
  if (total.count() != device.peak.parts.total().count()) {
    total.fail("differs from the sum of the parts");
  }
  return device;
}

}  // namespace

const BaselineDevice* Baseline::find(int device) const {
  const auto found = std::ranges::find(devices, device, &BaselineDevice::device);
  return found == devices.end() ? nullptr : &*found;
}

Baseline read_baseline(const std::string& path) {
  const json::value document = parse_json_document(read_text_file(path), path, kBaselineRemedy);
  const JsonField root(document, "", path, kBaselineRemedy);
  if (const JsonField schema = root.at("schema"); schema.text() != kBaselineSchema) {
    schema.fail(fmt::format("expected {}", kBaselineSchema));
  }
  Baseline baseline;
  baseline.subject = root.at("subject").text();
  for (const JsonField& device : root.at("devices").elements()) {
    baseline.devices.push_back(read_device(device));
  }
  return baseline;
}

void write_baseline(const Baseline& baseline, ByteSink& sink) {
  write_text(sink, baseline_text(baseline));
}

}  // namespace highwater
