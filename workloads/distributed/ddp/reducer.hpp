// DDP's reducer: gradients are copied into buckets as they become ready, and full buckets are
// summed over the ranks while backward continues.
//
// Mirrors c10d::Reducer of PyTorch 2.6 (torch/csrc/distributed/c10d/reducer.cpp) without sparse
// gradients. The first backward uses the buckets passed to the constructor; the order in which its
// gradients become ready determines the buckets of all later ones, unless DDP looks for unused
// parameters.
//
// With gradient_as_bucket_view each .grad becomes a view into its bucket as soon as it was copied
// there; such buckets are categorized as gradients, the others as communication.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "workloads/distributed/bucket_assignment.hpp"
#include "workloads/distributed/ddp/comm_hook.hpp"
#include "workloads/distributed/process_group.hpp"
#include "workloads/eager/node.hpp"

namespace highwater::dist {

/// The first bucket's default limit in bytes (reducer.hpp: kDefaultFirstBucketBytes).
inline constexpr std::int64_t kFirstBucketBytes = std::int64_t{1} << 20;

/// The default limit of buckets in MiB (distributed.py: bucket_cap_mb).
inline constexpr double kDefaultBucketCapMib = 25;

struct ReducerOptions {
  std::int64_t first_bucket_bytes = kFirstBucketBytes;
  std::int64_t bucket_bytes = static_cast<std::int64_t>(kDefaultBucketCapMib) << 20;
  bool gradient_as_bucket_view = false;
  bool static_graph = false;
  bool find_unused = false;
};

class Reducer {
 public:
  /// `parameters` are leaves that require gradients, in the order of model.parameters(); all of one
  /// dtype share a bucket at first.
  Reducer(ProcessGroup& group, std::vector<eager::Tensor> parameters, ReducerOptions options,
          std::unique_ptr<CommHook> hook = nullptr);
  Reducer(const Reducer&) = delete;
  Reducer& operator=(const Reducer&) = delete;
  ~Reducer();

  void prepare_for_forward() { ++iterations_; }

  /// Gradients of the next backward are reduced.
  void prepare_for_backward();

  /// Builds the final buckets once the order is known; does nothing after that.
  void rebuild_buckets();

  /// In a static graph's first iteration: all gradients are reduced at the end of backward.
  void delay_all_reduce();

 private:
  struct Bucket {
    eager::Tensor gradients;  ///< one flat block
    std::vector<std::size_t> variables;
    std::vector<eager::Tensor> views;  ///< one per variable, shaped like it
    std::size_t pending = 0;           ///< gradients that are not ready
    Work work;
    HookFuture hook_work;  ///< of a hook
  };

  /// Where a parameter's gradient goes.
  struct Locator {
    std::size_t bucket = 0;
    std::size_t place = 0;
  };

  void hook_into_backward();
  void make_used_map();
  [[nodiscard]] BucketAssignment first_assignment() const;
  void initialize_buckets(const BucketAssignment& assignment);
  void add_bucket(const std::vector<std::size_t>& variables);
  void add_view(Bucket& bucket, std::size_t variable, std::int64_t offset);
  void sync_bucket_indices(const BucketAssignment& assignment);
  void on_gradient(std::size_t variable);
  void mark_ready(std::size_t variable);
  void copy_into_bucket(std::size_t variable);
  void all_reduce(Bucket& bucket);
  void all_reduce_ready_buckets();
  void all_reduce_used_map();
  void finalize_backward();

  [[nodiscard]] bool is_static_first() const { return options_.static_graph && iterations_ == 1; }

  [[nodiscard]] bool looks_for_unused() const {
    return options_.find_unused && !options_.static_graph;
  }

  ProcessGroup& group_;
  eager::Runtime& runtime_;
  std::vector<eager::Tensor> parameters_;
  ReducerOptions options_;
  std::vector<Bucket> buckets_;
  std::vector<Locator> locators_;  ///< by parameter
  std::vector<eager::Ref<eager::Node>> accumulators_;
  eager::Tensor local_used_map_;  ///< int32 per parameter, of a static graph or to find unused ones
  Work local_used_work_;
  std::unique_ptr<CommHook> hook_;
  std::vector<std::size_t> ready_order_;
  std::uint64_t iterations_ = 0;
  std::size_t next_bucket_ = 0;
  bool expects_gradients_ = false;
  bool has_rebuilt_ = false;
};

}  // namespace highwater::dist
