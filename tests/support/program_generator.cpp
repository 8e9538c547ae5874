// How random programs are made; the guarantees are those of the conformance vectors.
#include <algorithm>
#include <utility>

#include "allocator/settings/settings.hpp"
#include "tests/support/program.hpp"
#include "tests/support/program_draws.hpp"

namespace highwater::program {
namespace {

using namespace literals;

class Generator {
 public:
  Generator(const Profile& profile, std::uint64_t seed)
      : profile_(profile), random_(seed), settings_(random_settings(profile, random_)) {
    program_.version = profile.version;
    program_.conf = to_conf(settings_);
    program_.capacity = random_capacity(profile, random_);
    if (profile.garbage_collection) {
      program_.fraction = static_cast<double>(random_.between(30, 99)) / 100;
    }
    if (random_.percent(30)) {
      program_.addresses = AddressPolicy::lowest_fit;
    }
    live_target_ = random_.between(5, profile.sizes == Sizes::small ? 120 : 40);
  }

  Program generate(std::size_t length) {
    while (program_.instructions.size() < length) {
      step();
    }
    return std::move(program_);
  }

 private:
  struct Live {
    std::uint32_t id = 0;
    StreamId stream;
  };

  template <class Added>
  void add(Added instruction) {
    program_.instructions.emplace_back(std::move(instruction));
  }

  void step() {
    const std::uint64_t dice = random_.below(100);
    if (dice < 80) {
      allocate_or_free();
    } else if (dice < 90) {
      use_streams();
    } else if (dice < 96) {
      use_pools();
    } else {
      manage();
    }
  }

  void allocate_or_free() {
    const bool wants_more = live_.size() < live_target_;
    if (live_.empty() || random_.percent(wants_more ? 65 : 40)) {
      add_alloc();
    } else {
      add_free(random_.below(live_.size()));
    }
    if (random_.percent(1)) {
      live_target_ = random_.between(1, 60);  // so that caches fill and drain
    }
  }

  void add_alloc() {
    const Live block{next_id_++, random_stream()};
    add(Alloc{block.id, random_size(), block.stream});
    live_.push_back(block);
  }

  /// Mostly sizes that were seen before, so that cached blocks are found again.
  Bytes random_size() {
    if (random_.percent(1)) {
      return Bytes{};
    }
    if (!sizes_.empty() && random_.percent(60)) {
      return random_.one_of(sizes_);
    }
    sizes_.push_back(fresh_size(profile_.sizes, random_));
    if (sizes_.size() > 12) {
      sizes_.erase(sizes_.begin());
    }
    return sizes_.back();
  }

  void add_free(std::size_t index) {
    add(Free{live_[index].id});
    live_[index] = live_.back();
    live_.pop_back();
  }

  StreamId random_stream() { return StreamId{static_cast<std::uint32_t>(stream_number())}; }

  /// Mostly the default stream.
  std::uint64_t stream_number() {
    return random_.percent(50) ? 0 : random_.below(profile_.streams);
  }

  void use_streams() {
    if (profile_.streams == 1) {
      return;
    }
    const std::uint64_t dice = random_.below(10);
    if (dice < 6 && !live_.empty()) {
      add_record_stream(random_.below(live_.size()));
    } else if (dice < 9) {
      add(CompleteStream{random_stream()});
    } else {
      add(CompleteAll{});
    }
  }

  /// While a pool is open the free follows at once, as the vectors guarantee.
  void add_record_stream(std::size_t index) {
    do {
      add(RecordStream{live_[index].id, random_stream()});
    } while (random_.percent(30));
    if (open_pool_ != 0 || random_.percent(60)) {
      add_free(index);
    }
  }

  void use_pools() {
    if (profile_.pools == Pools::none) {
      return;
    }
    if (open_pool_ != 0) {
      add(PoolEnd{open_pool_});
      open_pool_ = 0;
    } else if (profile_.pools == Pools::released && !pools_.empty() && random_.percent(40)) {
      release_a_pool();
    } else {
      begin_a_pool();
    }
  }

  void begin_a_pool() {
    if (pools_.empty() || random_.percent(40)) {
      pools_.push_back(next_pool_++);
      begin_counts_.resize(next_pool_, 0);
      open_pool_ = pools_.back();
    } else {
      open_pool_ = random_.one_of(pools_);
    }
    add(PoolBegin{open_pool_});
    ++begin_counts_[open_pool_];
  }

  void release_a_pool() {
    const std::uint64_t pool = random_.one_of(pools_);
    add(PoolRelease{pool});
    if (--begin_counts_[pool] == 0) {
      std::erase(pools_, pool);
    }
  }

  /// Instructions that are rare in real programs.
  void manage() {
    const std::uint64_t dice = random_.below(10);
    if (dice < 3 && open_pool_ == 0) {
      add(EmptyCache{});
    } else if (dice < 5) {
      add(ResetPeaks{});
    } else if (dice < 7 && (profile_.changes_settings || profile_.toggles_expandable)) {
      change_settings();
    } else if (dice == 9) {
      free_all();
    }
  }

  void change_settings() {
    if (profile_.changes_settings) {
      change_other_settings();
    }
    const std::string expandable = profile_.toggles_expandable ? toggled_expandable() : "";
    const std::string others = to_conf(settings_);
    add(ChangeSettings{others + (others.empty() || expandable.empty() ? "" : ",") + expandable});
  }

  /// The split limit is only ever raised: lowering it makes 2.6 free parts of segments.
  void change_other_settings() {
    Settings other = random_settings(profile_, random_);
    other.max_split_size = settings_.max_split_size;
    if (profile_.max_split && random_.percent(30)) {
      other.max_split_size += 1_MiB * random_.between(1, 20);
    }
    other.max_non_split_rounding_size = settings_.max_non_split_rounding_size;
    other.large_segment_size = settings_.large_segment_size;
    other.expandable_segments = settings_.expandable_segments;
    settings_ = other;
  }

  /// With a split limit expandable segments are only ever switched off: switching them on would
  /// split blocks beyond the limit, parts of which 2.6 then gives to cudaFree.
  std::string toggled_expandable() {
    settings_.expandable_segments = false;  // named here, because to_conf leaves it out when off
    const bool on = !profile_.max_split && random_.percent(50);
    return on ? "expandable_segments:True" : "expandable_segments:False";
  }

  void free_all() {
    while (!live_.empty()) {
      add_free(live_.size() - 1);
    }
  }

  Profile profile_;
  Random random_;
  Settings settings_;
  Program program_;
  std::vector<Live> live_;
  std::vector<Bytes> sizes_;
  std::vector<std::uint64_t> pools_;         ///< that can be opened or released
  std::vector<std::uint64_t> begin_counts_;  ///< by pool, less its releases
  std::uint64_t open_pool_ = 0;              ///< 0: none
  std::uint64_t next_pool_ = 1;
  std::uint64_t live_target_ = 0;
  std::uint32_t next_id_ = 1;
};

}  // namespace

Program generate(const Profile& profile, std::uint64_t seed, std::size_t length) {
  return Generator(profile, seed).generate(length);
}

}  // namespace highwater::program
