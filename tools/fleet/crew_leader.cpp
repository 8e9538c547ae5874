#include "tools/fleet/crew_leader.hpp"

#include <algorithm>
#include <cmath>
#include <new>

#include <fmt/format.h>

#include "tools/fleet/patience.hpp"
#include "tools/fleet/piece_codec.hpp"

namespace highwater {
namespace {

/// As much work as a rank is given at a time.
constexpr double kSecondsAtOnce = 0.1;
constexpr std::size_t kMostAtOnce = 1024;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::exception_ptr failure_of(const PieceAnswer& answer) {
  switch (answer.failure) {
    case FailureKind::none:
      break;
    case FailureKind::usage:
      return std::make_exception_ptr(UsageError(answer.bytes));
    case FailureKind::input:
      return std::make_exception_ptr(Error(answer.bytes));
    case FailureKind::memory:
      return std::make_exception_ptr(std::bad_alloc());
    case FailureKind::internal:
      return std::make_exception_ptr(std::runtime_error(answer.bytes));
  }
  return nullptr;
}

}  // namespace

Leader::Leader(Crew& crew, const PieceRun& run)
    : crew_(&crew), run_(&run), workers_(static_cast<std::size_t>(crew.size())) {
  crew.is_stalled_.resize(workers_.size());
  times_.processes = crew.size();
}

void Leader::carry_out() {
  const std::size_t all = run_->wanted->size();
  Patience patience;
  deliver_kept();
  while (run_->delivery->next() < all) {
    if (receive_next()) {
      patience.reset();
    } else {
      look_for_stalled();
      patience.wait();
      hand_out();
    }
    if (all_stalled()) {
      work_alone();
    }
    deliver_kept();
  }
  run_->times->set_leader(times_);
}

/// A message, if there is one, and what is wanted then.
bool Leader::receive_next() {
  const Clock::time_point begin = Clock::now();
  const double delivering = times_.delivery_seconds;
  const auto message = crew_->transport_->poll();
  if (!message) {
    return false;
  }
  receive(*message);
  hand_out();
  ++times_.messages;
  times_.message_seconds += seconds_since(begin) - (times_.delivery_seconds - delivering);
  return true;
}

void Leader::receive(const Message& message) {
  auto content = from_bytes<CrewMessage>(message.bytes);
  if (content.word == CrewWord::unable) {
    throw Error(content.text);
  }
  if (content.round == crew_->round_) {
    take_answers(message.from, content);
  }
}

void Leader::take_answers(int rank, CrewMessage& message) {
  const auto index = static_cast<std::size_t>(rank);
  Worker& worker = workers_[index];
  worker.since = Clock::now();
  for (PieceAnswer& answer : message.answers) {
    std::erase(worker.held, answer.position);
    run_->times->add_piece(run_->work->job, answer.number, answer.seconds, rank);
    const Clock::time_point begin = Clock::now();
    deliver(answer);
    times_.delivery_seconds += seconds_since(begin);
  }
  if (message.word == CrewWord::ready) {
    worker.is_idle = true;
    crew_->is_stalled_[index] = false;
  }
}

void Leader::deliver(PieceAnswer& answer) {
  if (run_->delivery->has(answer.position)) {
    return;  // handed out twice
  }
  if (answer.failure == FailureKind::none) {
    run_->store->keep(run_->work->job, answer.number, answer.bytes);
  }
  slowest_ = std::max(slowest_, answer.seconds);
  seconds_ += answer.seconds;
  run_->progress(++done_);
  const std::exception_ptr failure = failure_of(answer);
  run_->delivery->deliver(answer.position, {std::move(answer.bytes), failure});
}

/// What an interrupted run left is delivered when its turn has come.
void Leader::deliver_kept() {
  const PieceNumbers& wanted = *run_->wanted;
  for (std::size_t at = run_->delivery->next();
       at < wanted.size() && run_->store->has(run_->work->job, wanted.at(at));
       at = run_->delivery->next()) {
    run_->progress(++done_);
    run_->delivery->deliver(at, kept_outcome(*run_, wanted.at(at)));
  }
}

void Leader::hand_out() {
  for (std::size_t rank = 1; rank < workers_.size(); ++rank) {
    if (workers_[rank].is_idle && has_next()) {
      give(static_cast<int>(rank), workers_[rank]);
    }
  }
}

void Leader::give(int rank, Worker& worker) {
  CrewMessage message{.word = CrewWord::pieces, .round = crew_->round_};
  for (std::size_t count = pieces_at_once(); count > 0 && has_next(); --count) {
    const std::size_t position = take_next();
    worker.held.push_back(position);
    message.pieces.push_back({position, run_->wanted->at(position)});
  }
  ++times_.hand_outs;
  worker.is_idle = false;
  worker.since = Clock::now();
  crew_->transport_->send(rank, to_bytes(message));
}

/// Quick pieces go out many at a time, but never so many that others run out of work.
std::size_t Leader::pieces_at_once() const {
  const std::size_t left = run_->wanted->size() - next_;
  const std::size_t share = left / (4 * workers_.size());
  if (done_ == 0 || seconds_ <= 0) {
    return 1;
  }
  const double count = kSecondsAtOnce * static_cast<double>(done_) / seconds_;
  const auto quick = static_cast<std::size_t>(std::min(count, static_cast<double>(kMostAtOnce)));
  return std::max<std::size_t>(1, std::min(quick, share));
}

/// Whether there is a piece to hand out. What has come in the meantime, or is kept, is passed over.
bool Leader::has_next() {
  while (!again_.empty() && run_->delivery->has(again_.front())) {
    again_.pop_front();
  }
  const PieceNumbers& wanted = *run_->wanted;
  while (next_ < wanted.size() && run_->store->has(run_->work->job, wanted.at(next_))) {
    ++next_;
  }
  return !again_.empty() || next_ < std::min(wanted.size(), run_->delivery->limit());
}

std::size_t Leader::take_next() {
  if (again_.empty()) {
    return next_++;
  }
  const std::size_t position = again_.front();
  again_.pop_front();
  return position;
}

bool Leader::is_stalled(const Worker& worker) const {
  const std::chrono::duration<double> waited = Clock::now() - worker.since;
  return !worker.held.empty() &&
         waited > std::max(crew_->limit_.least,
                           std::chrono::duration<double>(crew_->limit_.times_slowest * slowest_));
}

void Leader::look_for_stalled() {
  for (std::size_t rank = 1; rank < workers_.size(); ++rank) {
    Worker& worker = workers_[rank];
    if (!is_stalled(worker)) {
      continue;
    }
    crew_->notes_.push_back(fmt::format(
        "rank {} stalled: no result for {:.0f} s; its {} pieces were handed out again", rank,
        std::chrono::duration<double>(Clock::now() - worker.since).count(), worker.held.size()));
    crew_->is_stalled_[rank] = true;
    again_.insert(again_.end(), worker.held.begin(), worker.held.end());
    worker.held.clear();
  }
}

bool Leader::all_stalled() const {
  return std::all_of(crew_->is_stalled_.begin() + 1, crew_->is_stalled_.end(),
                     [](bool stalled) { return stalled; });
}

/// Nobody else is left.
void Leader::work_alone() {
  if (has_next()) {
    const std::size_t position = take_next();
    run_->progress(++done_);
    run_->delivery->deliver(position, outcome_of(*run_, run_->wanted->at(position)));
  }
}

}  // namespace highwater
