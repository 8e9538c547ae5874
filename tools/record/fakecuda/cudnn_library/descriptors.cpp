#include "tools/record/fakecuda/cudnn_library/descriptors.hpp"

#include <algorithm>

namespace highwater::cudnn_library {
namespace {

namespace wire = fakecuda::wire;

constexpr int kBadParameter = 2000;  // CUDNN_STATUS_BAD_PARAM
// Plans hold their compiled kernels, so not all are kept to the end.
constexpr std::size_t kMostKept = 8192;
constexpr std::uint32_t kMostAttributes = 256;

// cudnnBackendDescriptorType_t that belong to a device, and their attribute for it (cudnn_graph.h)
int gpu_attribute(int type) {
  switch (type) {
    case 2:  // engine
      return 1307;
    case 4:  // heuristics
      return 204;
    case 5:  // execution plan
      return 407;
    default:
      return 0;
  }
}

Built malformed(const char* what) {
  return {nullptr, kBadParameter, what};
}

bool is_number_of_elements(std::int64_t count) {
  return count >= 0 && count <= wire::kMostElements;
}

}  // namespace

Built Descriptors::failed(int status) {
  return {nullptr, status, last_error(library_)};
}

Built Descriptors::created(int type) {
  Descriptor descriptor = nullptr;
  if (const int status = library_.create(type, &descriptor); status != 0) {
    return failed(status);
  }
  owned_.push_back(descriptor);
  return {descriptor, 0, ""};
}

Built Descriptors::finished(Descriptor descriptor, int type, bool has_gpu) {
  const int name = gpu_attribute(type);
  if (name != 0 && !has_gpu) {
    const int status = library_.set(descriptor, name, wire::kDescriptorType, 1, &library_.gpu);
    if (status != 0) {
      return failed(status);
    }
  }
  const int status = library_.finalize(descriptor);
  return status == 0 ? Built{descriptor, 0, ""} : failed(status);
}

Built Descriptors::set_attribute(Reader& reader, Descriptor descriptor, int depth) {
  const int name = reader.number<int>(), type = reader.number<int>();
  const auto count = reader.number<std::int64_t>();
  if (!reader.is_good() || !is_number_of_elements(count)) {
    return malformed("malformed attribute");
  }
  std::string values;
  if (type == wire::kDescriptorType) {
    for (std::int64_t i = 0; i < count; ++i) {
      const Built& inner = built(reader.text(), depth + 1);
      if (inner.descriptor == nullptr) {
        return inner;
      }
      wire::put(values, inner.descriptor);
    }
  } else if (values = reader.text();
             values.size() != wire::element_size(type) * static_cast<std::size_t>(count)) {
    return malformed("malformed attribute");
  }
  const int status = library_.set(descriptor, name, type, count, values.data());
  return status == 0 ? Built{descriptor, 0, ""} : failed(status);
}

Built Descriptors::made(Reader& reader, int depth) {
  const int type = reader.number<int>();
  const auto attributes = reader.number<std::uint32_t>();
  if (!reader.is_good() || attributes > kMostAttributes) {
    return malformed("malformed descriptor");
  }
  const Built empty = created(type);
  bool has_gpu = false;
  for (std::uint32_t i = 0; empty.descriptor != nullptr && i < attributes; ++i) {
    has_gpu = has_gpu || Reader(reader.rest()).number<int>() == gpu_attribute(type);
    Built set = set_attribute(reader, empty.descriptor, depth);
    if (set.descriptor == nullptr) {
      return set;
    }
  }
  return empty.descriptor == nullptr ? empty : finished(empty.descriptor, type, has_gpu);
}

// The library fills all elements at once.
Built Descriptors::fill(std::string_view owner_node, int name, int type, std::int64_t asked,
                        std::int64_t& count, int depth) {
  const Built owner = built(owner_node, depth + 1);
  if (owner.descriptor == nullptr) {
    return owner;
  }
  std::vector<Descriptor> elements;
  for (std::int64_t i = 0; i < asked; ++i) {
    const Built element = created(type);
    if (element.descriptor == nullptr) {
      return element;
    }
    elements.push_back(element.descriptor);
  }
  const int status = library_.get(owner.descriptor, name, wire::kDescriptorType, asked, &count,
                                  elements.empty() ? nullptr : elements.data());
  if (status != 0) {
    return failed(status);
  }
  for (std::int64_t i = 0; i < std::min(asked, count); ++i) {
    known_[wire::filled_node(owner_node, name, type, asked, i)] = {
        elements[static_cast<std::size_t>(i)], 0, ""};
  }
  return owner;
}

Built Descriptors::filled(Reader& reader, std::string_view node, int depth) {
  const std::string_view owner = reader.text();
  const int name = reader.number<int>(), type = reader.number<int>();
  const auto asked = reader.number<std::int64_t>();
  if (!reader.is_good() || !is_number_of_elements(asked)) {
    return malformed("malformed place");
  }
  std::int64_t count = 0;
  if (const Built done = fill(owner, name, type, asked, count, depth); done.descriptor == nullptr) {
    return done;
  }
  const auto found = known_.find(node);
  return found == known_.end() ? malformed("there is no such element") : found->second;
}

const Built& Descriptors::built(std::string_view node, int depth) {
  if (const auto found = known_.find(node); found != known_.end()) {
    return found->second;
  }
  Reader reader(node);
  const char kind = reader.number<char>();
  Built result = depth > wire::kDeepestNode ? malformed("nested too deeply")
                 : kind == wire::kMade      ? made(reader, depth)
                 : kind == wire::kFilled    ? filled(reader, node, depth)
                                            : malformed("unknown node");
  return known_[std::string(node)] = std::move(result);
}

wire::Answer Descriptors::values(Descriptor descriptor, int name, int type, std::int64_t asked) {
  wire::Answer answer;
  std::string bytes(wire::element_size(type) * static_cast<std::size_t>(asked), '\0');
  answer.status = library_.get(descriptor, name, type, asked, &answer.count,
                               bytes.empty() ? nullptr : bytes.data());
  if (answer.status != 0) {
    answer.bytes = last_error(library_);
  } else {
    bytes.resize(wire::element_size(type) *
                 static_cast<std::size_t>(std::clamp<std::int64_t>(answer.count, 0, asked)));
    answer.bytes = bytes;
  }
  return answer;
}

wire::Answer Descriptors::answer(std::string_view question) {
  if (owned_.size() > kMostKept) {
    forget_all();
  }
  Reader reader(question);
  const char kind = reader.number<char>();
  const std::string_view node = reader.text();
  if (kind == wire::kStatus && reader.is_done()) {
    const Built& subject = built(node, 0);
    return {subject.status, 0, subject.message};
  }
  const int name = reader.number<int>(), type = reader.number<int>();
  const auto asked = reader.number<std::int64_t>();
  if (!reader.is_done() || !is_number_of_elements(asked)) {
    return {kBadParameter, 0, "malformed question"};
  }
  if (kind == wire::kDescriptors) {
    std::int64_t count = 0;
    const Built owner = fill(node, name, type, asked, count, 0);
    return {owner.status, count, owner.message};
  }
  const Built& subject = built(node, 0);
  return kind != wire::kValues || type == wire::kDescriptorType
             ? wire::Answer{kBadParameter, 0, "malformed question"}
         : subject.descriptor == nullptr ? wire::Answer{subject.status, 0, subject.message}
                                         : values(subject.descriptor, name, type, asked);
}

void Descriptors::forget_all() {
  known_.clear();
  std::for_each(owned_.rbegin(), owned_.rend(),
                [&](Descriptor descriptor) { library_.destroy(descriptor); });
  owned_.clear();
}

}  // namespace highwater::cudnn_library
