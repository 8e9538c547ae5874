#include "tools/record/fakecuda/cudnn/backend_descriptor.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "tools/record/fakecuda/cudnn/wire.hpp"

namespace highwater::fakecuda {
namespace {

// cudnnBackendDescriptorType_t
constexpr int kOperationGraph = 15;
// engine, its configuration, heuristics, plan, intermediate, knob, layout, operation graph
constexpr std::array kOfLibrary{2, 3, 4, 5, 6, 8, 9, kOperationGraph};

/// Means nothing in another process: a plan that is not run needs no handle.
bool is_of_process(const Attribute& attribute) {
  return attribute.type == wire::kHandleType || attribute.type == wire::kPointerType;
}

void put_attribute(std::string& node, const Attribute& attribute) {
  wire::put(node, attribute.name);
  wire::put(node, attribute.type);
  wire::put(node, attribute.count);
  if (attribute.type == wire::kDescriptorType) {
    node += attribute.nodes;
  } else {
    wire::put_text(node, attribute.bytes);
  }
}

}  // namespace

void BackendDescriptor::set(int name, int type, std::int64_t count, const void* data) {
  const std::size_t size =
      data == nullptr ? 0 : wire::element_size(type) * static_cast<std::size_t>(count);
  Attribute attribute{name, type, data == nullptr ? 0 : count,
                      std::string(static_cast<const char*>(data), size), ""};
  for (std::int64_t i = 0; type == wire::kDescriptorType && i < attribute.count; ++i) {
    const BackendDescriptor* inner = static_cast<BackendDescriptor* const*>(data)[i];
    wire::put_text(attribute.nodes, inner->node());
    is_known_ = is_known_ && inner->is_known_;
    graph_ = inner->graph() != nullptr ? inner->graph() : graph_;
  }
  filled_.clear();
  const auto found = std::ranges::find(attributes_, name, &Attribute::name);
  if (found != attributes_.end()) {
    *found = std::move(attribute);
  } else {
    attributes_.push_back(std::move(attribute));
  }
}

void BackendDescriptor::fill(std::string node, std::shared_ptr<const std::string> graph) {
  filled_ = std::move(node);
  graph_ = std::move(graph);
}

bool BackendDescriptor::is_of_library() const {
  return !filled_.empty() || std::ranges::find(kOfLibrary, type_) != kOfLibrary.end();
}

std::string BackendDescriptor::node() const {
  if (!filled_.empty()) {
    return filled_;
  }
  std::string node(1, wire::kMade);
  wire::put(node, type_);
  wire::put(node, static_cast<std::uint32_t>(
                      attributes_.size() -
                      static_cast<std::size_t>(std::ranges::count_if(attributes_, is_of_process))));
  for (const Attribute& attribute : attributes_) {
    if (!is_of_process(attribute)) {
      put_attribute(node, attribute);
    }
  }
  return node;
}

std::shared_ptr<const std::string> BackendDescriptor::graph() const {
  return type_ == kOperationGraph ? std::make_shared<const std::string>(node()) : graph_;
}

std::int64_t BackendDescriptor::put_stored(int name, std::int64_t asked, void* out) const {
  const auto found = std::ranges::find(attributes_, name, &Attribute::name);
  if (found == attributes_.end()) {
    return 0;
  }
  const std::int64_t taken = std::min(found->count, asked);
  if (out != nullptr && taken > 0) {
    std::memcpy(out, found->bytes.data(),
                std::min(wire::element_size(found->type) * static_cast<std::size_t>(taken),
                         found->bytes.size()));
  }
  return found->count;
}

}  // namespace highwater::fakecuda
