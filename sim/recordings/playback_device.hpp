// A device that answers as the recording shows that the real one did.
//
// Each operation brings the recorded segment entries that belong to it. A device allocation
// succeeds, at the recorded address, exactly when the next of them is one of that size; when memory
// was released first, or the operation ran out of memory, it fails. So addresses and failures are
// the recorded ones although the capacity is unknown. Calls that the recording does not show
// (because the model took another path) are answered with made-up addresses and counted.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "allocator/device.hpp"
#include "sim/recordings/derivation.hpp"
#include "traces/recording.hpp"

namespace highwater {

class PlaybackDevice : public Device {
 public:
  explicit PlaybackDevice(const RecordedDevice& recording) : recording_(&recording) {}

  /// Begins the operation that accounts for `entries`.
  void begin(EntryRange entries);

  /// Memory that the model holds: a damaged file must not cause it to be handed out twice.
  [[nodiscard]] bool holds_any(AddressRange range) const;
  void hold(AddressRange range);
  void drop(AddressRange range);

  /// Recorded segment entries of the current operation that the model did not ask for.
  [[nodiscard]] std::vector<std::size_t> unmatched() const;

  [[nodiscard]] std::uint64_t matched() const { return matched_; }

  /// Device calls that the recording does not show.
  [[nodiscard]] std::uint64_t unexpected() const { return unexpected_; }

  /// Whether `address` was made up by this device.
  [[nodiscard]] static bool is_made_up(Address address);

  std::optional<Address> allocate(Bytes size) override;
  void free(AddressRange segment) override;
  Address reserve(const ReservationRequest& request) override;

  void unreserve(AddressRange) override {}

  bool map(AddressRange range, Bytes page) override;
  void unmap(AddressRange range) override;
  [[nodiscard]] std::optional<Bytes> recorded_reclaim() const override;
  [[nodiscard]] Bytes free_memory() const override;
  [[nodiscard]] Bytes total_memory() const override;

 private:
  struct Answer {
    std::size_t entry = 0;
    bool used = false;
    bool after_wait = false;  ///< blocks completed between it and the answer before
  };

  [[nodiscard]] const RecordedEntry& entry(const Answer& answer) const {
    return recording_->entries[answer.entry];
  }

  [[nodiscard]] Answer* next();
  [[nodiscard]] bool has_oom() const;

  /// Whether entries name their pools.
  [[nodiscard]] bool has_names() const { return recording_->pools.size() > 1; }

  [[nodiscard]] std::optional<Address> first_mapped(const ReservationRequest& request) const;
  [[nodiscard]] bool is_for(const ReservationRequest& request, std::size_t map) const;
  bool take(RecordedAction action, AddressRange range);
  void use(Answer& answer);
  Address make_up(Bytes size);

  const RecordedDevice* recording_;
  std::size_t begin_ = 0;            ///< of the operation's entries
  std::map<Address, Address> held_;  ///< begin and end of each range
  std::vector<Answer> answers_;      ///< segment and oom entries of the operation, in order
  Address made_up_{kMadeUp};
  std::uint64_t matched_ = 0;
  std::uint64_t unexpected_ = 0;

  /// Above every address that a recording can hold (they are below 2^63).
  static constexpr std::uint64_t kMadeUp = std::uint64_t{1} << 63;
};

}  // namespace highwater
