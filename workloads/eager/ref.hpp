// An intrusive reference count: tensors die exactly when their last reference does, as in PyTorch.
//
// The count is not atomic: one symbolic run belongs to one thread.
#pragma once

#include <cstdint>
#include <utility>

namespace highwater::eager {

/// Base of everything that Ref points to. Derived types define how they are destroyed.
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  [[nodiscard]] std::uint32_t use_count() const { return count_; }

 protected:
  ~RefCounted() = default;

 private:
  template <class T>
  friend class Ref;
  std::uint32_t count_ = 0;
};

/// A shared pointer to a T, which derives from RefCounted and has a static `destroy(T*)`.
template <class T>
class Ref {
 public:
  Ref() = default;

  Ref(std::nullptr_t) {}

  explicit Ref(T* object) : object_(object) { retain(); }

  Ref(const Ref& other) : object_(other.object_) { retain(); }

  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}

  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }

  ~Ref() { release(); }

  void reset() { release(); }

  [[nodiscard]] T* get() const { return object_; }

  T* operator->() const { return object_; }

  T& operator*() const { return *object_; }

  explicit operator bool() const { return object_ != nullptr; }

  bool operator==(const Ref& other) const = default;

 private:
  void retain() {
    if (object_ != nullptr) {
      ++object_->count_;
    }
  }

  void release() {
    T* object = std::exchange(object_, nullptr);
    if (object != nullptr && --object->count_ == 0) {
      T::destroy(object);
    }
  }

  T* object_ = nullptr;
};

}  // namespace highwater::eager
