#include "tools/fleet/fleet.hpp"

#include <chrono>

#include "sim/replay/parallel.hpp"
#include "tools/text/progress_line.hpp"

namespace highwater {
namespace {

thread_local PartFiles* t_parts = nullptr;

/// Every `shard.count`-th piece is the shard's.
PieceNumbers numbers_of(const std::optional<Shard>& shard, std::size_t count) {
  if (!shard) {
    return {0, 1, count};
  }
  const std::size_t before = shard->index - 1;
  return {before, shard->count,
          count > before ? (count - before + shard->count - 1) / shard->count : 0};
}

}  // namespace

MergeScope::MergeScope(PartFiles& parts) : before_(t_parts), ban_(&parts.name()) {
  t_parts = &parts;
}

MergeScope::~MergeScope() {
  t_parts = before_;
}

const PartFiles* merged_parts() {
  return t_parts;
}

Fleet::Fleet()
    : own_store_(std::make_unique<NoStore>()),
      store_(own_store_.get()),
      times_(std::make_unique<PieceTimes>("")),
      executor_(std::make_unique<ThreadExecutor>()) {}

Fleet::Fleet(const FleetRequest& request) : Fleet() {
  shard_ = request.run.shard;
  crew_ = crew();
  if (crew_ != nullptr) {
    executor_ = std::make_unique<CrewExecutor>(*crew_);
    if (request.stall_seconds > 0) {
      crew_->set_stall_limit({std::chrono::duration<double>(request.stall_seconds)});
    }
  }
  if (is_follower()) {
    return;  // files are rank 0's
  }
  if (t_parts != nullptr) {
    t_parts->check(request.run);
    store_ = t_parts;
  } else if (!request.journal.empty()) {
    own_store_ = std::make_unique<Journal>(request.journal, request.run, request.resume);
    store_ = own_store_.get();
  }
  if (shard_) {
    part_ = std::make_unique<PartWriter>(request.part, request.run);
  }
  times_ = std::make_unique<PieceTimes>(request.times);
}

Fleet::~Fleet() = default;

std::size_t Fleet::width() const {
  return crew_ == nullptr ? core_count() : static_cast<std::size_t>(crew_->size() - 1);
}

bool Fleet::is_follower() const {
  return crew_ != nullptr && !crew_->is_leader();
}

void Fleet::run(const PieceWork& work, const PieceNumbers& wanted,
                const OrderedDelivery::Take& take) {
  std::optional<ProgressLine> progress;
  if (work.what != kUncounted) {
    progress.emplace(wanted.size(), work.what);
  }
  OrderedDelivery delivery([&](std::size_t position, std::string&& result) {
    if (part_) {
      part_->add(work.job, wanted.at(position), result);
    }
    take(position, std::move(result));
  });
  const auto begin = std::chrono::steady_clock::now();
  executor_->run({&work, &wanted, store_, &delivery, times_.get(), [&](std::size_t done) {
                    if (progress) {
                      progress->show(done);
                    }
                  }});
  times_->end_list(work,
                   std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}

void Fleet::stream_bytes(std::string_view what, std::size_t count, const CarryOut& carry_out,
                         const TakeBytes& take) {
  const PieceWork work{std::string(what), new_job(), carry_out};
  if (is_follower()) {
    crew_->follow(work);
    return;
  }
  if (t_parts != nullptr) {
    t_parts->require_all(work.job, count);
  }
  const PieceNumbers wanted = numbers_of(shard_, count);
  run(work, wanted, [&](std::size_t position, std::string&& result) {
    if (!shard_) {
      take(wanted.at(position), std::move(result));
    }
  });
  if (crew_ != nullptr) {
    crew_->close({});
  }
}

std::vector<std::string> Fleet::need_bytes(std::string_view what, std::uint32_t job,
                                           std::vector<PieceNumber> numbers,
                                           const CarryOut& carry_out) {
  const PieceWork work{std::string(what), job, carry_out};
  if (is_follower()) {
    return crew_->follow(work);
  }
  std::vector<std::string> results(numbers.size());
  run(work, PieceNumbers(std::move(numbers)),
      [&](std::size_t position, std::string&& result) { results[position] = std::move(result); });
  if (crew_ != nullptr) {
    crew_->close(results);
  }
  return results;
}

void Fleet::require_results(std::uint32_t job, const std::vector<PieceNumber>& numbers) const {
  if (t_parts != nullptr) {
    t_parts->require(job, numbers);
  }
}

void Fleet::end_of_pieces() {
  if (is_follower()) {
    throw PiecesOnly{};
  }
  times_->finish();
  if (part_) {
    part_->finish();
    throw PiecesOnly{};
  }
}

}  // namespace highwater
