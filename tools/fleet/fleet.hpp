// The one way in which commands carry out many independent pieces of work.
//
// A study cuts its work into pieces and gives them to a Fleet, which has them carried out by this
// process's threads, by the ranks of an MPI job, or only those of one shard, and takes what an
// interrupted run has kept. All processes go through the same calls in the same order. Results come
// back in the order of the pieces, so what is printed does not depend on who carried them out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/fleet/crew.hpp"
#include "tools/fleet/executor.hpp"
#include "tools/fleet/file_stores.hpp"
#include "tools/fleet/piece_codec.hpp"
#include "tools/fleet/pieces.hpp"
#include "traces/program_ban.hpp"

namespace highwater {

/// Where pieces are carried out and kept, as the command line says it.
struct FleetRequest {
  RunIdentity run;      ///< its shard, if this is one
  std::string part;     ///< file of a shard's results
  std::string journal;  ///< file; empty: none
  Resume resume = Resume::no;
  double stall_seconds = 0;  ///< 0: the usual (mpi_executor.hpp)
  std::string times;         ///< file that says how long each piece took; empty: none
};

/// Thrown by end_of_pieces() where somebody else prints the answer: a shard, or an MPI rank but
/// the first. No std::exception: only whoever runs a command is meant to catch it.
struct PiecesOnly {};

class Fleet {
 public:
  /// The threads of this process; nothing is kept.
  Fleet();

  /// @throws UsageError, InputError for files that cannot be used
  explicit Fleet(const FleetRequest& request);

  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;
  ~Fleet();

  /// Pieces 0 to `count` - 1. `make(number)` gives a piece's result, in any process and on any
  /// thread; `take(number, result)` gets them one after another, in order, where the answer is
  /// printed, and nowhere else. @throws what the first piece that failed threw
  template <class Make, class Take>
  void stream(std::string_view what, std::size_t count, const Make& make, const Take& take) {
    using Result = decltype(make(PieceNumber{}));
    stream_bytes(
        what, count, [&](PieceNumber number) { return to_bytes(make(number)); },
        [&](PieceNumber number, std::string&& bytes) { take(number, from_bytes<Result>(bytes)); });
  }

  /// The results of `numbers`, which whatever follows depends on: every process gets all of them.
  /// `job` tells lists of work apart, by new_job().
  template <class Make>
  auto need(std::string_view what, std::uint32_t job, std::vector<PieceNumber> numbers,
            const Make& make) {
    using Result = decltype(make(PieceNumber{}));
    std::vector<Result> results;
    for (const std::string& bytes :
         need_bytes(what, job, std::move(numbers),
                    [&](PieceNumber number) { return to_bytes(make(number)); })) {
      results.push_back(from_bytes<Result>(bytes));
    }
    return results;
  }

  /// Before need() in a merge: @throws InputError if the parts lack one of these results, which
  /// each of the shards has carried out
  void require_results(std::uint32_t job, const std::vector<PieceNumber>& numbers) const;

  /// A list of work that need() is called for, several times if it likes.
  std::uint32_t new_job() { return next_job_++; }

  /// To be called once all pieces are carried out, before anything is printed.
  /// @throws PiecesOnly where another process does
  void end_of_pieces();

  /// The part of the work that this process is asked for; absent: all of it.
  [[nodiscard]] const std::optional<Shard>& shard() const { return shard_; }

  /// How many pieces are carried out at a time, everywhere: as many as it pays to ask for at once.
  [[nodiscard]] std::size_t width() const;

 private:
  using CarryOut = std::function<std::string(PieceNumber)>;
  using TakeBytes = std::function<void(PieceNumber, std::string&&)>;

  /// One of several processes, but the one that prints.
  [[nodiscard]] bool is_follower() const;

  void stream_bytes(std::string_view what, std::size_t count, const CarryOut& carry_out,
                    const TakeBytes& take);
  std::vector<std::string> need_bytes(std::string_view what, std::uint32_t job,
                                      std::vector<PieceNumber> numbers, const CarryOut& carry_out);
  void run(const PieceWork& work, const PieceNumbers& wanted, const OrderedDelivery::Take& take);

  std::optional<Shard> shard_;
  Crew* crew_ = nullptr;
  std::unique_ptr<ResultStore> own_store_;
  ResultStore* store_;
  std::unique_ptr<PartWriter> part_;
  std::unique_ptr<PieceTimes> times_;
  std::unique_ptr<Executor> executor_;
  std::uint32_t next_job_ = 0;
};

/// Where runs on this thread take their results from (`merge`); nullptr: nowhere.
const PartFiles* merged_parts();

/// While it lives, runs on this thread take the results of `parts` (`merge`), and start no program:
/// their command comes from the parts. @pre `parts` lives longer
class MergeScope {
 public:
  explicit MergeScope(PartFiles& parts);
  MergeScope(const MergeScope&) = delete;
  MergeScope& operator=(const MergeScope&) = delete;
  ~MergeScope();

 private:
  PartFiles* before_;
  ProgramBan ban_;
};

}  // namespace highwater
