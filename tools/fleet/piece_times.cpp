#include "tools/fleet/piece_times.hpp"

#include <span>

#include <boost/json.hpp>

namespace highwater {

namespace json = boost::json;

PieceTimes::PieceTimes(const std::string& path) {
  if (!path.empty()) {
    sink_ = open_sink(path);
  }
}

void PieceTimes::add_piece(std::uint32_t job, PieceNumber number, double seconds,
                           std::optional<int> rank) {
  if (!is_wanted()) {
    return;
  }
  json::object line{{"list", job}, {"piece", number}, {"seconds", seconds}};
  if (rank) {
    line["rank"] = *rank;
  }
  const std::lock_guard lock(lock_);
  ++pieces_;
  write(json::serialize(line));
}

void PieceTimes::end_list(const PieceWork& work, double seconds) {
  if (!is_wanted()) {
    return;
  }
  json::object line{
      {"list", work.job}, {"what", work.what}, {"pieces", pieces_}, {"seconds", seconds}};
  if (leader_) {
    line["processes"] = leader_->processes;
    line["messages"] = leader_->messages;
    line["hand_outs"] = leader_->hand_outs;
    line["message_seconds"] = leader_->message_seconds;
    line["delivery_seconds"] = leader_->delivery_seconds;
  }
  const std::lock_guard lock(lock_);
  write(json::serialize(line));
  pieces_ = 0;
  leader_.reset();
}

void PieceTimes::write(const std::string& line) {
  constexpr std::size_t kFlushAt = std::size_t{1} << 16;
  buffer_ += line + "\n";
  if (buffer_.size() >= kFlushAt) {
    sink_->write(std::as_bytes(std::span(buffer_)));
    buffer_.clear();
  }
}

void PieceTimes::finish() {
  if (is_wanted()) {
    sink_->write(std::as_bytes(std::span(buffer_)));
    sink_->commit();
    sink_.reset();
  }
}

}  // namespace highwater
