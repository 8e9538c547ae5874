// cuDNN's graph API. What the caller sets is kept; what cuDNN would say of it (whether it can be
// finalized, which engines its heuristics choose in which order, their notes, their workspaces) the
// real library is asked (real_library.hpp).
//
// Where nobody answers, the heuristics know one engine for every problem, with one plan whose
// workspace is FAKE_CUDNN_WORKSPACE bytes. A caller that names an engine itself gets it:
// cudnn-frontend does so for the backward pass of attention on Blackwell
// (scaled_dot_product_flash_attention.h, override_heuristics_query), after a look at how many
// engines there are (plan_helpers.h, create_engine).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/core/launches.hpp"
#include "tools/record/fakecuda/core/settings.hpp"
#include "tools/record/fakecuda/cudnn/backend_descriptor.hpp"
#include "tools/record/fakecuda/cudnn/descriptors.hpp"
#include "tools/record/fakecuda/cudnn/executions.hpp"
#include "tools/record/fakecuda/cudnn/last_error.hpp"
#include "tools/record/fakecuda/cudnn/real_library.hpp"
#include "tools/record/fakecuda/cudnn/report.hpp"
#include "tools/record/fakecuda/cudnn/wire.hpp"

namespace highwater::fakecuda {
namespace {

constexpr int kPlan = 5;  // cudnnBackendDescriptorType_t

// cudnnBackendAttributeName_t
constexpr int kHeuristicResults = 202;
constexpr int kConfigEngine = 300;
constexpr int kConfigWorkspaceSize = 303;
constexpr int kConfigSharedMemory = 304;
constexpr int kPlanWorkspaceSize = 402;
constexpr int kPlanJson = 405;
constexpr int kEngineGlobalCount = 802;
constexpr int kVariantPackWorkspace = 1003;
constexpr int kEngineGlobalIndex = 1301;

constexpr int kInt64 = 3;  // cudnnBackendAttributeType_t

constexpr std::int64_t kEngines = 1 << 16;  // more than anybody names

/// What a caller asks of a descriptor.
struct Asked {
  int name;
  int type;
  std::int64_t count;  ///< elements for which there is room
  void* out;
};

template <typename Number>
std::int64_t put_number(Asked asked, Number value) {
  if (asked.count > 0 && asked.out != nullptr) {
    std::memcpy(asked.out, &value, sizeof value);
  }
  return 1;
}

// An empty JSON object.
std::int64_t put_json(Asked asked) {
  if (asked.count >= 2 && asked.out != nullptr) {
    std::memcpy(asked.out, "{}", 2);
  }
  return 2;
}

/// Nobody knows what would be in the descriptors that the caller has made; empty ones will do.
std::int64_t put_unknown(Asked asked) {
  if (asked.count > 0 && asked.out != nullptr) {
    (*static_cast<BackendDescriptor**>(asked.out))->set_unknown();
  }
  return 1;
}

// Returns how many elements there are.
std::int64_t put_without_library(const BackendDescriptor& descriptor, Asked asked) {
  switch (asked.name) {
    case kHeuristicResults:
    case kConfigEngine:
      return put_unknown(asked);
    case kConfigSharedMemory:
      return put_number(asked, std::int32_t{0});
    case kConfigWorkspaceSize:  // callers drop a configuration whose needs they cannot determine
    case kPlanWorkspaceSize:
      return put_number(asked, static_cast<std::int64_t>(settings().cudnn_workspace));
    case kEngineGlobalCount:
      return put_number(asked, kEngines);
    case kPlanJson:
      return put_json(asked);
    default:
      break;
  }
  const std::int64_t stored = descriptor.put_stored(asked.name, asked.count, asked.out);
  return stored == 0 && asked.name == kEngineGlobalIndex ? put_number(asked, std::int64_t{0})
                                                         : stored;
}

/// What the library says that the caller's own descriptors hold now.
std::optional<wire::Answer> ask_descriptors(const BackendDescriptor& descriptor, Asked asked) {
  auto** const receivers = static_cast<BackendDescriptor**>(asked.out);
  const std::int64_t room = receivers == nullptr ? 0 : std::max<std::int64_t>(asked.count, 0);
  const int type = room == 0 ? 0 : receivers[0]->type();
  const std::string node = descriptor.node();
  auto answer =
      ask_library(wire::attribute_question(wire::kDescriptors, node, asked.name, type, room));
  if (answer && answer->status == kCudnnSuccess) {
    for (std::int64_t i = 0; i < std::min(answer->count, room); ++i) {
      receivers[i]->fill(wire::filled_node(node, asked.name, type, room, i), descriptor.graph());
    }
  }
  return answer;
}

std::optional<wire::Answer> ask_values(const BackendDescriptor& descriptor, Asked asked) {
  const std::int64_t room = asked.out == nullptr ? 0 : std::max<std::int64_t>(asked.count, 0);
  const auto answer = ask_library(
      wire::attribute_question(wire::kValues, descriptor.node(), asked.name, asked.type, room));
  const std::size_t space = wire::element_size(asked.type) * static_cast<std::size_t>(room);
  if (answer && answer->status == kCudnnSuccess && answer->bytes.size() <= space && room > 0) {
    std::memcpy(asked.out, answer->bytes.data(), answer->bytes.size());
  }
  return answer;
}

bool is_of_process(int type) {
  return type == wire::kHandleType || type == wire::kPointerType;
}

std::optional<wire::Answer> ask_attribute(const BackendDescriptor& descriptor, Asked asked) {
  if (!descriptor.is_known() || !descriptor.is_of_library() || is_of_process(asked.type)) {
    return std::nullopt;
  }
  return asked.type == wire::kDescriptorType ? ask_descriptors(descriptor, asked)
                                             : ask_values(descriptor, asked);
}

void note_finalized(const BackendDescriptor& plan) {
  std::int64_t workspace = 0;
  const auto answer = plan.is_known()
                          ? ask_values(plan, {kPlanWorkspaceSize, kInt64, 1, &workspace})
                          : std::nullopt;
  const auto graph = plan.graph();
  if (answer && answer->status == kCudnnSuccess && graph != nullptr) {
    note_plan(*graph, workspace);
  } else {
    note_unknown_plan();
  }
}

}  // namespace

FAKECUDA_API int cudnnBackendCreateDescriptor(int type, BackendDescriptor** descriptor) {
  *descriptor = new BackendDescriptor(type);
  return kCudnnSuccess;
}

FAKECUDA_API int cudnnBackendDestroyDescriptor(BackendDescriptor* descriptor) {
  delete descriptor;
  return kCudnnSuccess;
}

FAKECUDA_API int cudnnBackendSetAttribute(BackendDescriptor* descriptor, int name, int type,
                                          std::int64_t count, const void* data) {
  descriptor->set(name, type, count, data);
  return kCudnnSuccess;
}

FAKECUDA_API int cudnnBackendGetAttribute(const BackendDescriptor* descriptor, int name, int type,
                                          std::int64_t asked_count, std::int64_t* count,
                                          void* out) {
  const Asked asked{name, type, asked_count, out};
  const auto answer = ask_attribute(*descriptor, asked);
  if (answer && answer->status != kCudnnSuccess) {
    set_last_error(answer->bytes);
    return answer->status;
  }
  const std::int64_t found = answer ? answer->count : put_without_library(*descriptor, asked);
  if (count != nullptr) {
    *count = found;
  }
  return kCudnnSuccess;
}

FAKECUDA_API int cudnnBackendFinalize(BackendDescriptor* descriptor) {
  if (descriptor->is_known() && descriptor->is_of_library()) {
    const auto answer = ask_library(wire::status_question(descriptor->node()));
    if (answer && answer->status != kCudnnSuccess) {
      set_last_error(answer->bytes);
      return answer->status;
    }
    if (!answer) {
      descriptor->set_unknown();
    }
  }
  if (descriptor->type() == kPlan) {
    note_finalized(*descriptor);
  }
  return kCudnnSuccess;
}

FAKECUDA_API int cudnnBackendExecute(void*, const BackendDescriptor* plan,
                                     const BackendDescriptor* variant) {
  launch_computation("cudnnBackendExecute");
  std::uint64_t workspace = 0;
  variant->put_stored(kVariantPackWorkspace, 1, &workspace);
  if (workspace != 0) {
    const auto graph = plan->graph();
    note_execution(workspace, graph == nullptr ? std::string() : *graph);
  }
  return kCudnnSuccess;
}

}  // namespace highwater::fakecuda
