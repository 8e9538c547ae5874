#include "workloads/kernels/reduce.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "workloads/kernels/division.hpp"

namespace highwater {
namespace {

constexpr int kMaxDims = 12;
constexpr std::int64_t kMaxOffset = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kWarp = 32;
constexpr std::int64_t kMaxThreads = 512;
constexpr std::int64_t kMinValuesPerThread = 16;
constexpr std::int64_t kMaxValuesPerThread = 256;
constexpr std::int64_t kSemaphore = 4;

std::int64_t last_pow2(std::int64_t n) {
  std::int64_t power = 1;
  while (power <= n / 2) {
    power *= 2;
  }
  return power;
}

struct Dim {
  std::int64_t size = 1;
  std::int64_t out = 0;  ///< strides in bytes; 0 in a reduced dimension
  std::int64_t in = 0;
};

/// TensorIterator's view of a reduction: reduced dimensions first, then by stride, coalesced.
struct Iteration {
  std::array<Dim, kMaxDims> dims{};
  int rank = 0;
  std::int64_t offset = 0;  ///< of the input, in bytes

  [[nodiscard]] std::int64_t numel() const {
    std::int64_t n = 1;
    for (int i = 0; i < rank; ++i) {
      n *= dims[static_cast<std::size_t>(i)].size;
    }
    return n;
  }

  Dim& at(int i) { return dims[static_cast<std::size_t>(i)]; }

  [[nodiscard]] const Dim& at(int i) const { return dims[static_cast<std::size_t>(i)]; }
};

/// Positive if `a` belongs behind `b`, negative if before, 0 if the strides do not tell.
int compare(const Dim& a, const Dim& b) {
  if ((a.out == 0) != (b.out == 0)) {
    return b.out == 0 ? 1 : -1;
  }
  for (const auto& [x, y] : {std::pair(a.out, b.out), std::pair(a.in, b.in)}) {
    if (x == 0 || y == 0) {
      continue;
    }
    if (x != y) {
      return x < y ? -1 : 1;
    }
    if (a.size > b.size) {
      return 1;
    }
  }
  return 0;
}

/// An insertion sort that steps over ties, as TensorIterator does: the order of ties matters.
void reorder(Iteration& it) {
  std::reverse(it.dims.begin(), it.dims.begin() + it.rank);
  for (int i = 1; i < it.rank; ++i) {
    int moving = i;
    for (int other = i - 1; other >= 0; --other) {
      const int order = compare(it.at(other), it.at(moving));
      if (order > 0) {
        std::swap(it.at(other), it.at(moving));
        moving = other;
      } else if (order < 0) {
        break;
      }
    }
  }
}

bool can_coalesce(const Dim& a, const Dim& b) {
  return a.size == 1 || b.size == 1 || (a.size * a.out == b.out && a.size * a.in == b.in);
}

void coalesce(Iteration& it) {
  if (it.rank <= 1) {
    return;
  }
  int last = 0;
  for (int i = 1; i < it.rank; ++i) {
    Dim& previous = it.at(last);
    if (can_coalesce(previous, it.at(i))) {
      const std::int64_t size = previous.size * it.at(i).size;
      if (previous.size == 1) {
        previous = it.at(i);
      }
      previous.size = size;
    } else {
      it.at(++last) = it.at(i);
    }
  }
  it.rank = last + 1;
}

Iteration iteration(const ReduceInput& in) {
  Iteration it;
  it.rank = static_cast<int>(in.sizes.size());
  it.offset = in.offset * item_size(in.input);
  std::int64_t stride = item_size(in.output);
  for (int i = it.rank - 1; i >= 0; --i) {
    const auto index = static_cast<std::size_t>(i);
    const bool reduced = in.reduced == 0 || ((in.reduced >> index) & 1U) != 0;
    const std::int64_t size = in.sizes[index];
    it.at(i) = {size, reduced ? 0 : stride, in.strides[index] * item_size(in.input)};
    stride *= reduced ? 1 : size;
  }
  reorder(it);
  coalesce(it);
  return it;
}

bool fits_32_bits(const Iteration& it) {
  std::int64_t out = 1;
  std::int64_t in = 1;
  for (int i = 0; i < it.rank; ++i) {
    out += (it.at(i).size - 1) * it.at(i).out;
    in += (it.at(i).size - 1) * it.at(i).in;
  }
  return it.numel() <= kMaxOffset && out <= kMaxOffset && in <= kMaxOffset;
}

int widest_dimension(const Iteration& it) {
  std::int64_t widest = -1;
  int found = 0;
  for (int i = it.rank - 1; i >= 0; --i) {
    for (const std::int64_t stride : {it.at(i).out, it.at(i).in}) {
      const std::int64_t extent = (it.at(i).size - 1) * stride;
      if (extent > widest) {
        widest = extent;
        found = i;
      }
    }
  }
  return found;
}

std::int64_t accumulator_bytes(Reduction kind, const ReduceInput& in) {
  switch (kind) {
    case Reduction::sum:
    case Reduction::mean:
    case Reduction::prod:
    case Reduction::norm:
      return is_floating_point(in.input) ? 4 : item_size(in.input);
    case Reduction::amax:
    case Reduction::logical:
      return item_size(in.input);
    case Reduction::argmax:
    case Reduction::max_dim:
    case Reduction::var:
      return 16;
  }
  return 4;
}

/// The launch: how threads and blocks share outputs and inputs (setReduceConfig).
struct Launch {
  std::int64_t outputs = 1;
  std::int64_t inputs = 1;
  std::int64_t output_vector = 1;
  std::int64_t block_width = 1;
  std::int64_t block_height = 1;
  std::int64_t step_input = 1;
  std::int64_t step_output = 1;
  bool width_reduces = false;
  std::int64_t blocks_per_output = 1;

  [[nodiscard]] std::int64_t values_per_thread() const { return divide_up(inputs, step_input); }

  [[nodiscard]] std::int64_t grid() const {
    return divide_up(outputs / output_vector, step_output);
  }

  void set_block(std::int64_t dim0, std::int64_t dim1) {
    const std::int64_t threads = kMaxThreads / output_vector;
    const std::int64_t width = dim0 < threads ? last_pow2(dim0) : threads;
    const std::int64_t height = dim1 < threads ? last_pow2(dim1) : threads;
    block_width = std::min(width, kWarp);
    block_height = std::min(height, threads / block_width);
    block_width = std::min(width, threads / block_height);
  }
};

int reduced_dimensions(const Iteration& it) {
  int count = 0;
  for (int i = 0; i < it.rank; ++i) {
    count += it.at(i).out == 0 ? 1 : 0;
  }
  return count;
}

constexpr std::int64_t kMostOutputVector = 4;

/// How many neighbouring outputs one thread sums: 4, 2 or 1, as alignment allows.
std::int64_t output_vector(const Iteration& it, int reduced, std::int64_t item) {
  std::int64_t vector = kMostOutputVector;
  const auto limit = [&](std::int64_t n) {
    while (n % vector != 0) {
      vector /= 2;
    }
  };
  limit(it.offset / item);
  limit(it.at(reduced).size);
  for (int i = 0; i < it.rank; ++i) {
    if (i != reduced) {
      limit(it.at(i).in / item);
    }
  }
  return vector;
}

/// How many values one thread loads at once when it reduces a contiguous row.
constexpr std::int64_t kInputVector = 4;

void choose_block(Launch& launch, const Iteration& it, std::int64_t item, bool vectorize) {
  const int reduced = reduced_dimensions(it);
  launch.width_reduces = reduced == it.rank || it.at(0).in < it.at(reduced).in;
  std::int64_t dim0 = launch.width_reduces ? launch.inputs : launch.outputs;
  const std::int64_t dim1 = launch.width_reduces ? launch.outputs : launch.inputs;
  if (it.rank > 0 && it.at(launch.width_reduces ? 0 : reduced).in == item) {
    if (!launch.width_reduces) {
      launch.output_vector = output_vector(it, reduced, item);
      dim0 /= launch.output_vector;
    } else if (vectorize && dim0 > 128 && it.rank == 1) {
      dim0 /= kInputVector;
    }
  }
  launch.set_block(dim0, dim1);
}

/// How many blocks of threads the GPU runs at once.
std::int64_t concurrent_blocks(const Launch& launch, const Gpu& gpu) {
  const std::int64_t threads = launch.block_width * launch.block_height;
  return gpu.multiprocessors * (gpu.max_threads_per_multiprocessor / threads);
}

void split_work(Launch& launch, const Gpu& gpu) {
  (launch.width_reduces ? launch.step_input : launch.step_output) *= launch.block_width;
  if (launch.values_per_thread() < std::min(launch.block_height * 16, kMaxValuesPerThread)) {
    launch.step_output *= launch.block_height;
    return;
  }
  launch.step_input *= launch.block_height;
  const std::int64_t target = concurrent_blocks(launch, gpu);
  const std::int64_t values = launch.values_per_thread();
  if (values >= kMaxValuesPerThread && launch.grid() <= target) {
    launch.blocks_per_output =
        std::max(std::min(divide_up(target, launch.grid()), divide_up(values, kMinValuesPerThread)),
                 divide_up(values, kMaxValuesPerThread));
  }
}

Launch launch_of(const Gpu& gpu, Reduction kind, const ReduceInput& in, const Iteration& it) {
  Launch launch;
  for (int i = 0; i < it.rank; ++i) {
    (it.at(i).out == 0 ? launch.inputs : launch.outputs) *= it.at(i).size;
  }
  choose_block(launch, it, item_size(in.input), kind != Reduction::var);
  split_work(launch, gpu);
  return launch;
}

/// Of the buffer, for each of the blocks that share an output.
std::int64_t bytes_per_block(const Launch& launch, Reduction kind, const ReduceInput& in) {
  const std::int64_t bytes = accumulator_bytes(kind, in) * launch.outputs;
  return launch.width_reduces ? bytes : bytes * launch.block_width * launch.output_vector;
}

ReduceScratch launch_scratch(const Gpu& gpu, Reduction kind, const ReduceInput& in,
                             const Iteration& it) {
  const Launch launch = launch_of(gpu, kind, in, it);
  if (launch.blocks_per_output <= 1) {
    return {};
  }
  return {bytes_per_block(launch, kind, in) * launch.blocks_per_output, kSemaphore * launch.grid()};
}

/// The launches of a reduction, in halves of its widest dimension while offsets exceed 32 bits. A
/// tensor of petabytes has millions of pieces, but few that differ in size or alignment.
class PiecewiseScratch {
 public:
  PiecewiseScratch(const Gpu& gpu, Reduction kind, const ReduceInput& in)
      : gpu_(gpu), kind_(kind), in_(in) {}

  const std::vector<ReduceScratch>& of(Iteration it) {
    it.offset %= kMostOutputVector * item_size(in_.input);
    const auto [found, is_new] = known_.try_emplace(key_of(it));
    if (is_new) {
      found->second = fits_32_bits(it) ? of_launch(it) : of_halves(it);
    }
    return found->second;
  }

 private:
  using Key = std::vector<std::int64_t>;

  static Key key_of(const Iteration& it) {
    Key key{it.offset};
    for (int i = 0; i < it.rank; ++i) {
      key.push_back(it.at(i).size);
    }
    return key;
  }

  std::vector<ReduceScratch> of_launch(const Iteration& it) {
    const ReduceScratch scratch = launch_scratch(gpu_, kind_, in_, it);
    return scratch.buffer > 0 ? std::vector{scratch} : std::vector<ReduceScratch>();
  }

  std::vector<ReduceScratch> of_halves(Iteration it) {
    const int dim = widest_dimension(it);
    const std::int64_t half = it.at(dim).size / 2;
    Iteration front = it;
    front.at(dim).size = half;
    std::vector<ReduceScratch> found = of(front);
    it.at(dim).size -= half;
    it.offset += half * it.at(dim).in;
    const std::vector<ReduceScratch>& back = of(it);
    found.insert(found.end(), back.begin(), back.end());
    return found;
  }

  const Gpu& gpu_;
  Reduction kind_;
  const ReduceInput& in_;
  std::map<Key, std::vector<ReduceScratch>> known_;
};

std::int64_t output_count(const Iteration& it) {
  std::int64_t count = 1;
  for (int i = 0; i < it.rank; ++i) {
    count *= it.at(i).out == 0 ? 1 : it.at(i).size;
  }
  return count;
}

}  // namespace

std::int64_t reduce_accumulators(Reduction kind, const ReduceInput& in) {
  const Iteration it = iteration(in);
  const std::int64_t bytes = accumulator_bytes(kind, in);
  if (kind == Reduction::logical || bytes <= item_size(in.output) || fits_32_bits(it)) {
    return 0;
  }
  return bytes * output_count(it);
}

std::vector<ReduceScratch> reduce_scratch(const Gpu& gpu, Reduction kind, const ReduceInput& in) {
  return PiecewiseScratch(gpu, kind, in).of(iteration(in));
}

std::optional<ReduceSplit> reduce_split(const Gpu& gpu, Reduction kind, const ReduceInput& in) {
  static_assert(kMaxValuesPerThread == kMostValuesRatio * kMinValuesPerThread);
  const Iteration it = iteration(in);
  const Launch launch = launch_of(gpu, kind, in, it);
  if (!fits_32_bits(it) || launch.blocks_per_output <= 1) {
    return std::nullopt;
  }
  ReduceSplit split;
  split.unit = bytes_per_block(launch, kind, in);
  split.values_per_block = kMinValuesPerThread * launch.step_input;
  split.most_blocks = divide_up(concurrent_blocks(launch, gpu), launch.grid());
  split.fewest_values = (kMaxValuesPerThread - 1) * launch.step_input + 1;
  split.semaphores = kSemaphore * launch.grid();
  return split;
}

}  // namespace highwater
