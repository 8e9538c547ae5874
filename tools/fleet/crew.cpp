#include "tools/fleet/crew.hpp"

#include <algorithm>
#include <new>
#include <thread>

#include <fmt/format.h>

#include "tools/fleet/crew_leader.hpp"
#include "tools/fleet/crew_message.hpp"
#include "tools/fleet/fleet.hpp"
#include "tools/fleet/patience.hpp"
#include "tools/fleet/piece_codec.hpp"

namespace highwater {
namespace {

using Clock = std::chrono::steady_clock;

/// Results that are small and quick go out together.
constexpr std::chrono::milliseconds kAnswerEvery{50};
constexpr std::size_t kLongestAnswer = std::size_t{1} << 20;

Crew* g_crew = nullptr;

PieceAnswer failed(FailureKind kind, const std::string& what) {
  PieceAnswer answer;
  answer.failure = kind;
  answer.bytes = what;
  return answer;
}

PieceAnswer carried_out(const PieceWork& work, PieceNumber number) {
  try {
    PieceAnswer answer;
    answer.bytes = work.carry_out(number);
    return answer;
  } catch (const UsageError& error) {
    return failed(FailureKind::usage, error.what());
  } catch (const Error& error) {
    return failed(FailureKind::input, error.what());
  } catch (const std::bad_alloc&) {
    return failed(FailureKind::memory, "");
  } catch (const std::exception& error) {
    return failed(FailureKind::internal, error.what());
  }
}

PieceAnswer timed(const PieceWork& work, const AskedPiece& asked) {
  const Clock::time_point begin = Clock::now();
  PieceAnswer answer = carried_out(work, asked.number);
  answer.position = asked.position;
  answer.number = asked.number;
  answer.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return answer;
}

/// Carries out what rank 0 has handed out, and answers in messages that are neither many nor late.
class Follower {
 public:
  Follower(Transport& transport, const PieceWork& work, std::uint32_t round)
      : transport_(&transport), work_(&work), round_(round) {}

  void carry_out(const std::vector<AskedPiece>& pieces) {
    Clock::time_point answered = Clock::now();
    for (const AskedPiece& asked : pieces) {
      answers_.push_back(timed(*work_, asked));
      size_ += answers_.back().bytes.size();
      if (Clock::now() - answered >= kAnswerEvery || size_ > kLongestAnswer) {
        answer();
        answered = Clock::now();
      }
    }
    answer();
    say(CrewWord::ready);
  }

  void say(CrewWord word) {
    CrewMessage message{.word = word, .round = round_};
    message.answers = std::move(answers_);
    answers_.clear();
    size_ = 0;
    transport_->send(0, to_bytes(message));
  }

 private:
  void answer() {
    if (!answers_.empty()) {
      say(CrewWord::results);
    }
  }

  Transport* transport_;
  const PieceWork* work_;
  std::uint32_t round_;
  std::vector<PieceAnswer> answers_;
  std::size_t size_ = 0;
};

}  // namespace

Crew* crew() {
  return g_crew;
}

void join_crew(Crew* crew) {
  g_crew = crew;
}

CrewMessage wait_for_message(Transport& transport) {
  Patience patience;
  for (;;) {
    if (const auto message = transport.poll()) {
      return from_bytes<CrewMessage>(message->bytes);
    }
    patience.wait();
  }
}

std::vector<std::string> Crew::follow(const PieceWork& work) {
  const std::uint32_t round = round_++;
  Follower follower(*transport_, work, round);
  follower.say(CrewWord::ready);
  for (;;) {
    CrewMessage message = wait_for_message(*transport_);
    if (message.word == CrewWord::dismissed) {
      is_dismissed_ = true;
      throw PiecesOnly{};
    }
    if (message.round != round) {
      continue;
    }
    if (message.word == CrewWord::job_ended) {
      return std::move(message.results);
    }
    follower.carry_out(message.pieces);
  }
}

void Crew::lead(const PieceRun& run) {
  Leader(*this, run).carry_out();
}

void Crew::close(const std::vector<std::string>& results) {
  CrewMessage message{.word = CrewWord::job_ended, .round = round_++};
  message.results = results;
  tell_all(message);
}

void Crew::tell_all(const CrewMessage& message) {
  const std::string bytes = to_bytes(message);
  for (int rank = 1; rank < size(); ++rank) {
    transport_->send(rank, bytes);
  }
}

void Crew::report_failure(const std::string& what) {
  CrewMessage message{.word = CrewWord::unable};
  message.text = fmt::format("rank {}: {}", transport_->rank(), what);
  transport_->send(0, to_bytes(message));
}

void Crew::dismiss(int exit_code) {
  if (is_leader()) {
    tell_all({.word = CrewWord::dismissed});
    wait_until_all_left(exit_code);
  } else {
    while (!is_dismissed_) {
      is_dismissed_ = wait_for_message(*transport_).word == CrewWord::dismissed;
    }
    transport_->send(0, to_bytes(CrewMessage{.word = CrewWord::left}));
  }
  transport_->finish();
}

/// One that stalled would keep the others from leaving the job: it gets a moment.
void Crew::wait_until_all_left(int exit_code) {
  constexpr std::chrono::seconds kMoment{2};
  const Clock::time_point begin = Clock::now();
  is_stalled_.resize(static_cast<std::size_t>(size()));
  std::vector<bool> has_left(is_stalled_.size());
  has_left.front() = true;
  Patience patience;
  while (std::ranges::count(has_left, false) > 0) {
    const bool only_stalled = std::ranges::equal(
        has_left, is_stalled_, [](bool left, bool stalled) { return left || stalled; });
    const std::chrono::duration<double> limit = only_stalled ? kMoment : limit_.least;
    if (const auto message = transport_->poll()) {
      has_left[static_cast<std::size_t>(message->from)] =
          from_bytes<CrewMessage>(message->bytes).word == CrewWord::left;
    } else if (Clock::now() - begin > limit) {
      transport_->abort(exit_code);
    } else {
      patience.wait();
    }
  }
}

}  // namespace highwater
