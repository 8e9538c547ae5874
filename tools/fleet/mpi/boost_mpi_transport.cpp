// Messages by Boost.MPI. The program finds this library beside itself (launcher.cpp).
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <list>
#include <string>
#include <string_view>

#include <boost/mpi/communicator.hpp>
#include <boost/mpi/environment.hpp>
#include <boost/mpi/request.hpp>
#include <boost/mpi/status.hpp>

#include "tools/fleet/transport.hpp"

namespace highwater {
namespace {

namespace mpi = boost::mpi;

constexpr int kTag = 1;

class BoostMpiTransport : public Transport {
 public:
  // Other threads (progress) do not talk MPI.
  BoostMpiTransport() : environment_(mpi::threading::funneled, false) {}

  [[nodiscard]] int rank() const override { return world_.rank(); }

  [[nodiscard]] int size() const override { return world_.size(); }

  void send(int to, std::string bytes) override {
    Sent& sent = sent_.emplace_back(Sent{std::move(bytes), {}});
    sent.request = world_.isend(to, kTag, sent.bytes.data(), static_cast<int>(sent.bytes.size()));
    forget_delivered();
  }

  std::optional<Message> poll() override {
    forget_delivered();
    accept_announced();
    return take_arrived();
  }

  void finish() override {
    for (Sent& sent : sent_) {
      sent.request.wait();
    }
    sent_.clear();
  }

  [[noreturn]] void abort(int exit_code) override {
    mpi::environment::abort(exit_code);
    std::_Exit(exit_code);
  }

 private:
  struct Sent {
    std::string bytes;  ///< MPI reads them until the request is complete
    mpi::request request;
  };

  struct Arriving {
    Message message;  ///< MPI writes its bytes until the request is complete
    mpi::request request;
    bool is_complete = false;
  };

  static std::size_t count_of(const mpi::status& status) {
    return static_cast<std::size_t>(status.count<char>().value_or(0));
  }

  /// A long message is announced before it is sent, and its sender may stop, or work, in between:
  /// nobody waits for the rest of it.
  void accept_announced() {
    while (const auto status = world_.iprobe(mpi::any_source, kTag)) {
      Message& message = arriving_.emplace_back().message;
      message.from = status->source();
      message.bytes.resize(count_of(*status));
      arriving_.back().request = world_.irecv(message.from, kTag, message.bytes.data(),
                                              static_cast<int>(message.bytes.size()));
    }
  }

  /// The messages of a rank keep their order.
  std::optional<Message> take_arrived() {
    for (auto at = arriving_.begin(); at != arriving_.end(); ++at) {
      at->is_complete = at->is_complete || at->request.test();
      const bool is_first = std::none_of(arriving_.begin(), at, [&](const Arriving& earlier) {
        return earlier.message.from == at->message.from;
      });
      if (at->is_complete && is_first) {
        Message message = std::move(at->message);
        arriving_.erase(at);
        return message;
      }
    }
    return std::nullopt;
  }

  void forget_delivered() {
    while (!sent_.empty() && sent_.front().request.test()) {
      sent_.pop_front();
    }
  }

  mpi::environment environment_;
  mpi::communicator world_;
  std::deque<Sent> sent_;  // neither container moves its elements
  std::list<Arriving> arriving_;
};

}  // namespace
}  // namespace highwater

/// nullptr for a program of another version, whose classes may be laid out differently.
extern "C" __attribute__((visibility("default"))) highwater::Transport* highwater_transport(
    const char* version) {
  return std::string_view(version) == HIGHWATER_VERSION ? new highwater::BoostMpiTransport()
                                                        : nullptr;
}
