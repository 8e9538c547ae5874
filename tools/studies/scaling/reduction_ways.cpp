#include "tools/studies/scaling/reduction_ways.hpp"

#include <array>
#include <limits>

#include "workloads/kernels/reduce.hpp"

namespace highwater {
namespace {

/// Which dimensions of what is reduced are summed.
enum class Layout : std::uint8_t {
  columns,  ///< [values, results]: of a bias, over tokens
  rows,     ///< [results, values]: over what is contiguous
  whole,
};

struct Elements {
  Reduction kind;
  DType input;
  DType output;
};

constexpr std::array kElements{
    Elements{Reduction::sum, DType::bf16, DType::bf16},
    Elements{Reduction::sum, DType::fp32, DType::fp32},
    Elements{Reduction::sum, DType::bf16, DType::fp32},
    Elements{Reduction::sum, DType::int64, DType::int64},
    Elements{Reduction::logical, DType::boolean, DType::boolean},
    Elements{Reduction::argmax, DType::fp32, DType::int64},
    Elements{Reduction::argmax, DType::bf16, DType::int64},
    Elements{Reduction::amax, DType::bf16, DType::bf16},
    Elements{Reduction::var, DType::fp32, DType::fp32},
};

constexpr std::array kLayouts{Layout::columns, Layout::rows, Layout::whole};

std::optional<ReduceSplit> split_of(const Gpu& gpu, const Elements& elements, Layout layout,
                                    std::int64_t values, std::int64_t results) {
  const bool is_columns = layout == Layout::columns;
  const std::array sizes{is_columns ? values : results, is_columns ? results : values};
  const std::array strides{sizes[1], std::int64_t{1}};
  const std::uint64_t reduced = layout == Layout::whole ? 0 : is_columns ? 1U : 2U;
  return reduce_split(gpu, elements.kind,
                      {.sizes = sizes,
                       .strides = strides,
                       .reduced = reduced,
                       .input = elements.input,
                       .output = elements.output});
}

WorkspaceLaw law_of(const ReduceSplit& split) {
  const auto number = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  return {.unit = Bytes{number(split.unit)},
          .values_per_block = number(split.values_per_block),
          .most_blocks = number(split.most_blocks),
          .resume = number(kMostValuesRatio),
          .fewest_values = number(split.fewest_values),
          .semaphores = Bytes{number(split.semaphores)}};
}

bool are_usable(std::uint64_t values, std::uint64_t results) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int32_t>::max();
  return values != 0 && results != 0 && values <= kMost && results <= kMost / values;
}

ReductionWay way_of(const Gpu& gpu, const Elements& elements, Layout layout) {
  const auto law = [gpu, elements, layout](std::uint64_t values,
                                           std::uint64_t results) -> std::optional<WorkspaceLaw> {
    if (!are_usable(values, results)) {
      return std::nullopt;
    }
    const auto split = split_of(gpu, elements, layout, static_cast<std::int64_t>(values),
                                static_cast<std::int64_t>(results));
    return split ? std::optional(law_of(*split)) : std::nullopt;
  };
  return {static_cast<std::uint64_t>(item_size(elements.input)),
          static_cast<std::uint64_t>(item_size(elements.output)), layout == Layout::whole, law};
}

}  // namespace

ReductionWays reduction_ways(const Gpu& gpu) {
  ReductionWays ways;
  for (const Elements& elements : kElements) {
    for (const Layout layout : kLayouts) {
      ways.push_back(way_of(gpu, elements, layout));
    }
  }
  return ways;
}

}  // namespace highwater
