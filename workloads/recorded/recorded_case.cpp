#include "workloads/recorded/recorded_case.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "traces/release.hpp"
#include "workloads/json/json_document.hpp"
#include "workloads/json/json_field.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/recorded/recorded_plan.hpp"
#include "workloads/recorded/unsupported.hpp"

namespace highwater {
namespace {

namespace json = boost::json;
using Field = JsonField;
using recorded::read_plan;
using recorded::Unsupported;

constexpr std::array<std::pair<std::string_view, CaseStatus>, 3> kStatuses{{
    {"ok", CaseStatus::ok},
    {"oom", CaseStatus::out_of_memory},
    {"error", CaseStatus::error},
}};

CaseStatus read_status(const Field& field) {
  const auto found =
      std::ranges::find(kStatuses, field.view(), &std::pair<std::string_view, CaseStatus>::first);
  if (found == kStatuses.end()) {
    field.fail(fmt::format("'{}' is none of ok, oom and error", field.view()));
  }
  return found->second;
}

/// "2.6.0+debian" -> "2.6".
std::string short_release(const std::string& version) {
  const auto release = parse_release(version);
  return release ? to_string(*release) : version;
}

RecordedUsage usage(const Field& stats, std::string_view which) {
  const auto figure = [&](std::string_view group) {
    const std::optional<Field> field = stats.find(fmt::format("{}_bytes.all.{}", group, which));
    return field ? Bytes{field->count()} : Bytes{};  // statistics before the first allocation
  };
  return {figure("requested"), figure("allocated"), figure("active"), figure("reserved")};
}

RecordedMarker read_marker(const Field& field) {
  RecordedMarker marker;
  marker.phase = field.at("phase").text();
  marker.step = field.at("step").optional_count();
  marker.micro = field.at("micro").optional_count();
  if (const auto index = field.find("trace_index")) {
    marker.trace_index = index->optional_count();
  }
  const Field stats = field.at("stats");
  marker.current = usage(stats, "current");
  marker.peak = usage(stats, "peak");
  if (const auto used = field.find("device_used")) {
    marker.device_used = Bytes{used->count()};
  }
  return marker;
}

RecordedGpu read_gpu(const Field& field) {
  RecordedGpu gpu;
  gpu.name = field.at("name").text();
  gpu.total_memory = Bytes{field.at("total_memory").count()};
  const std::vector<Field> capability = field.at("capability").elements();
  if (capability.size() != 2) {
    field.at("capability").fail("expected two numbers");
  }
  gpu.major = capability[0].small_count();
  gpu.minor = capability[1].small_count();
  return gpu;
}

/// What the driver counts beyond the allocator: context, loaded kernels, other processes. For a
/// simulated device this is zero.
std::optional<Bytes> outside_at(const RecordedMarker& marker, const RecordedCase& recorded) {
  if (!marker.device_used || recorded.is_simulated_device ||
      *marker.device_used < marker.current.reserved) {
    return std::nullopt;
  }
  return *marker.device_used - marker.current.reserved;
}

/// Completed steps, and the one in which memory ran out.
void read_steps(RecordedCase& recorded) {
  std::optional<std::uint64_t> begun;
  for (const RecordedMarker& marker : recorded.markers) {
    if (marker.phase == "step_begin") {
      begun = marker.step;
    } else if (marker.phase == "step_end" && marker.step) {
      recorded.steps.push_back({*marker.step, marker.peak, outside_at(marker, recorded)});
    }
  }
  if (recorded.status == CaseStatus::out_of_memory) {
    recorded.oom_step = begun;
  }
}

std::vector<std::int64_t> integers(const Field& list) {
  std::vector<std::int64_t> numbers;
  std::ranges::transform(list.elements(), std::back_inserter(numbers), &Field::integer);
  return numbers;
}

std::vector<std::int64_t> read_lengths(const Field& root) {
  if (const auto field = root.find("sequence_lengths")) {
    return integers(*field);
  }
  const Field fields = root.at("case");  // it failed before the first step
  const auto seq = fields.find("options").value_or(fields).find("seq");
  if (seq && seq->value().is_array()) {
    return integers(*seq);
  }
  return seq && seq->value().is_int64() ? std::vector{seq->integer()} : std::vector<std::int64_t>{};
}

/// The last line of a Python traceback: the error itself.
std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') {
    text.pop_back();
  }
  return text.substr(text.find_last_of('\n') + 1);  // npos + 1 is 0
}

void read_limits(const Field& fields, RecordedCase& recorded) {
  if (const auto conf = fields.find("alloc_conf")) {
    recorded.alloc_conf = conf->text();
  }
  const Field limit = fields.at("memory_limit_mib");
  if (!limit.is_null() && limit.real() > 0) {
    recorded.memory_fraction = std::min(
        1.0, limit.real() * 1048576.0 / static_cast<double>(recorded.gpu.total_memory.count()));
  }
}

/// The name of the phase that ends at a marker.
std::string phase_name(const RecordedMarker& marker) {
  if (!marker.step) {
    return "init";
  }
  return marker.phase == "optimizer_step" ? "optimizer" : marker.phase;
}

/// The phase in which memory ran out: the one after the last marker.
std::string phase_after(const RecordedMarker& last, const RecordedCase& recorded) {
  const std::string phase = phase_name(last);
  if (phase == "init") {
    return "init";
  }
  if (phase == "step_begin") {
    return recorded.plan && recorded.plan->zero_grad_at == ZeroGradAt::start ? "zero_grad" : "data";
  }
  if (phase == "data") {
    return "forward";
  }
  if (phase == "forward") {
    return recorded.plan && !recorded.plan->training ? "data" : "backward";
  }
  if (phase == "backward") {
    const bool is_last = !recorded.plan || !last.micro ||
                         *last.micro + 1 >= static_cast<std::uint64_t>(recorded.plan->grad_accum);
    const bool clips = recorded.plan && recorded.plan->grad_clip;
    return !is_last ? "data" : clips ? "clip" : "optimizer";
  }
  return phase == "clip" ? "optimizer" : phase == "optimizer" ? "zero_grad" : "data";
}

}  // namespace

RecordedCase read_recorded_case(std::string_view text, const std::string& source) {
  const json::value document =
      parse_json_document(text, source,
                          "the file is damaged or not a recorded case; record it "
                          "again");
  const Field root(document, "", source);
  RecordedCase recorded;
  const Field fields = root.at("case");
  recorded.id = fields.at("id").text();
  recorded.status = read_status(root.at("status"));
  if (const auto error = root.find("error")) {
    recorded.error = error->text();
  }
  recorded.torch = short_release(root.at("torch").text());
  if (const auto transformers = root.find("transformers")) {
    recorded.transformers = short_release(transformers->text());
  }
  if (const auto deepspeed = root.find("deepspeed")) {
    recorded.deepspeed = short_release(deepspeed->text());
  }
  recorded.gpu = read_gpu(root.at("gpu"));
  const auto fake = root.find("fake_device");
  recorded.is_simulated_device = fake && fake->boolean();
  read_limits(fields, recorded);
  recorded.sequence_lengths = read_lengths(root);
  for (const Field& marker : root.at("markers").elements()) {
    recorded.markers.push_back(read_marker(marker));
  }
  read_steps(recorded);
  try {
    if (recorded.status == CaseStatus::error) {
      throw Unsupported{"the recorded program failed: " + last_line(recorded.error)};
    }
    recorded.plan = read_plan(root, recorded, source);
  } catch (const Unsupported& unsupported) {
    recorded.unsupported_reason = unsupported.reason;
  }
  return recorded;
}

std::vector<RecordedPhase> recorded_phases(const RecordedCase& recorded) {
  std::vector<RecordedPhase> phases{{0, std::nullopt, "init"}};
  const RecordedMarker* before = nullptr;
  std::optional<std::uint64_t> step;
  for (const RecordedMarker& marker : recorded.markers) {
    if (!marker.trace_index && marker.phase != "oom") {
      continue;
    }
    const bool is_oom = marker.phase == "oom" || marker.phase == "error";
    const std::string phase = !is_oom  ? phase_name(marker)
                              : before ? phase_after(*before, recorded)
                                       : "init";
    step = is_oom ? step : marker.step;
    if (before != nullptr && phase != "init") {
      phases.push_back({before->trace_index.value_or(0), step, phase});
    }
    before = &marker;
  }
  return phases;
}

}  // namespace highwater
