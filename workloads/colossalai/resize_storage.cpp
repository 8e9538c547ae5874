#include "workloads/colossalai/resize_storage.hpp"

#include <utility>

#include "workloads/eager/runtime.hpp"

namespace highwater::dist {

void resize_storage(const eager::Tensor& tensor, std::int64_t bytes) {
  eager::Storage& storage = *tensor->storage;
  const eager::Ref<eager::Storage> other = storage.runtime->allocate(bytes, storage.place);
  std::swap(storage.bytes, other->bytes);
  std::swap(storage.event, other->event);
  std::swap(storage.allocation, other->allocation);
  std::swap(storage.has_block, other->has_block);
  std::swap(storage.used_on, other->used_on);
}

}  // namespace highwater::dist
