// cuDNN's graph API: descriptors are bags of attributes. The heuristics know one engine for every
// problem, with one plan whose workspace is FAKE_CUDNN_WORKSPACE bytes: the real size depends on
// the engine that cuDNN's heuristics choose. A caller that names an engine itself gets it:
// cudnn-frontend does so for the backward pass of attention on Blackwell
// (scaled_dot_product_flash_attention.h, override_heuristics_query), after a look at how many
// engines there are (plan_helpers.h, create_engine).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>

#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/core/settings.hpp"
#include "tools/record/fakecuda/cudnn/descriptors.hpp"

namespace highwater::fakecuda {
namespace {

// cudnnBackendAttributeName_t
constexpr int kHeuristicResults = 202;
constexpr int kConfigEngine = 300;
constexpr int kConfigWorkspaceSize = 303;
constexpr int kConfigSharedMemory = 304;
constexpr int kPlanWorkspaceSize = 402;
constexpr int kPlanJson = 405;
constexpr int kEngineGlobalCount = 802;
constexpr int kEngineGlobalIndex = 1301;

constexpr std::int64_t kEngines = 1 << 16;  // more than anybody names

// cudnnBackendAttributeType_t
std::size_t element_size(int type) {
  switch (type) {
    case 2:   // boolean
    case 24:  // char
      return 1;
    case 0:   // handle
    case 3:   // int64
    case 5:   // double
    case 6:   // void pointer
    case 15:  // descriptor
      return 8;
    case 26:  // fraction
      return 16;
    default:
      return 4;
  }
}

struct Attribute {
  std::int64_t count;
  std::string bytes;
};

struct BackendDescriptor {
  std::map<int, Attribute> attributes;
};

template <typename Number>
std::int64_t put_number(std::int64_t asked, void* out, Number value) {
  if (asked > 0 && out != nullptr) {
    std::memcpy(out, &value, sizeof value);
  }
  return 1;
}

// An empty JSON object.
std::int64_t put_json(std::int64_t asked, void* out) {
  if (asked >= 2 && out != nullptr) {
    std::memcpy(out, "{}", 2);
  }
  return 2;
}

// Returns how many elements there are.
std::int64_t put_stored(const BackendDescriptor& descriptor, int name, int type, std::int64_t asked,
                        void* out) {
  const auto found = descriptor.attributes.find(name);
  if (found == descriptor.attributes.end()) {
    return name == kEngineGlobalIndex ? put_number(asked, out, std::int64_t{0}) : 0;
  }
  const std::int64_t taken = std::min(found->second.count, asked);
  if (out != nullptr && taken > 0) {
    const std::size_t size = element_size(type) * static_cast<std::size_t>(taken);
    std::memcpy(out, found->second.bytes.data(), std::min(size, found->second.bytes.size()));
  }
  return found->second.count;
}

std::int64_t put_attribute(const BackendDescriptor& descriptor, int name, int type,
                           std::int64_t asked, void* out) {
  switch (name) {
    case kHeuristicResults:
    case kConfigEngine:
      return 1;  // the caller made the descriptors; an empty one will do
    case kConfigSharedMemory:
      return put_number(asked, out, std::int32_t{0});
    case kConfigWorkspaceSize:  // callers drop a configuration whose needs they cannot determine
    case kPlanWorkspaceSize:
      return put_number(asked, out, static_cast<std::int64_t>(settings().cudnn_workspace));
    case kEngineGlobalCount:
      return put_number(asked, out, kEngines);
    case kPlanJson:
      return put_json(asked, out);
    default:
      return put_stored(descriptor, name, type, asked, out);
  }
}

}  // namespace

FAKECUDA_API int cudnnBackendCreateDescriptor(int, BackendDescriptor** descriptor) {
  *descriptor = new BackendDescriptor;
  return kCudnnSuccess;
}

FAKECUDA_API int cudnnBackendDestroyDescriptor(BackendDescriptor* descriptor) {
  delete descriptor;
  return kCudnnSuccess;
}

FAKECUDA_API int cudnnBackendSetAttribute(BackendDescriptor* descriptor, int name, int type,
                                          std::int64_t count, const void* data) {
  const std::size_t size =
      data == nullptr ? 0 : element_size(type) * static_cast<std::size_t>(count);
  descriptor->attributes[name] = {count, std::string(static_cast<const char*>(data), size)};
  return kCudnnSuccess;
}

FAKECUDA_API int cudnnBackendGetAttribute(const BackendDescriptor* descriptor, int name, int type,
                                          std::int64_t asked, std::int64_t* count, void* out) {
  const std::int64_t found = put_attribute(*descriptor, name, type, asked, out);
  if (count != nullptr) {
    *count = found;
  }
  return kCudnnSuccess;
}

FAKECUDA_API int cudnnBackendFinalize(const BackendDescriptor*) {
  return kCudnnSuccess;
}

}  // namespace highwater::fakecuda
