#include "tools/reports/messages/message_sentences.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "tools/studies/runs/workload.hpp"
#include "traces/release.hpp"

namespace highwater {
namespace {

std::string size_text(std::int64_t bytes) {
  return to_iec(Bytes{static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0))});
}

std::int64_t middle(SizeRange range) {
  return range.low + (range.high - range.low) / 2;
}

std::string middle_text(SizeRange range) {
  return size_text(middle(range));
}

/// "29.40 GiB in use and the 2.10 GiB asked for".
std::string needed_text(const MessageFigures& figures) {
  return fmt::format("{} in use and the {} asked for", figures.allocated->text,
                     figures.asked->text);
}

std::string shortage_text(const MessageFigures& figures, const MessageCause& cause) {
  if (figures.total && figures.asked->range().is_above(figures.total->range())) {
    return fmt::format("the {} asked for are more than the whole device has, {}",
                       figures.asked->text, figures.total->text);
  }
  return fmt::format("{} are at least {} more than the {} that PyTorch could have",
                     needed_text(figures), size_text(cause.lacking.low), middle_text(cause.reach));
}

std::string cause_text(const MessageFigures& figures, const MessageCause& cause) {
  switch (*cause.cause) {
    case OomCause::fragmentation:
      return fmt::format(
          "{} fit into the {} that PyTorch could have ({} of it free in its segments), but no free "
          "block could take the request: in pieces, or of other streams or pools; the text does "
          "not tell which",
          needed_text(figures), middle_text(cause.reach), middle_text(cause.spare));
    case OomCause::memory_limit:
      return fmt::format("{} are more than the {} that the process may take by its memory fraction",
                         needed_text(figures), figures.allowed->text);
    case OomCause::outside_pytorch:
      return fmt::format("{} would fit on the device of {}, but others leave PyTorch only {}",
                         needed_text(figures), figures.total->text, middle_text(cause.reach));
    case OomCause::private_pool:
      return fmt::format(
          "{}; but {} of what is in use lie free in private pools, which only their CUDA graphs "
          "use",
          shortage_text(figures, cause), figures.private_pools->text);
    default:
      return shortage_text(figures, cause);
  }
}

std::string unclear_text(const OomMessage& message, UnclearCause why) {
  const MessageFigures& figures = message.figures;
  switch (why) {
    case UnclearCause::figures_missing:
      return "it is cut short, and the figures that would decide are missing";
    case UnclearCause::figures_disagree:
      return "its figures contradict each other";
    case UnclearCause::device_had_room:
      return fmt::format(
          "the device has {} free, and {} were asked for: memory came free before the message was "
          "written, or a limit that is not in the text refused",
          figures.free->text, figures.asked->text);
    case UnclearCause::too_close:
      return "capacity and fragmentation are closer to each other than the figures are exact";
    case UnclearCause::pool_unknown:
      return "the text does not say how much the pool of cudaMallocAsync keeps";
  }
  return "";
}

/// The tensor is smaller than the segment that it needs.
std::string asked_line(const PrintedSize& asked) {
  constexpr std::int64_t kSmall = 2 << 20;
  constexpr std::int64_t kMiddle = 20 << 20;
  if (asked.bytes == kSmall) {
    return "asked for: a segment of 2.00 MiB, which small requests take (up to 1 MiB)";
  }
  if (asked.bytes == kMiddle) {
    return "asked for: a segment of 20.00 MiB, which requests of 1 to 10 MiB take";
  }
  return fmt::format("asked for: {}", asked.text);
}

void add_process_lines(const MessageFigures& figures, const BesidePytorch* beside,
                       std::vector<std::string>& lines) {
  for (const ListedProcess& process : figures.processes) {
    const bool is_itself = beside != nullptr && beside->itself == &process;
    lines.push_back(fmt::format(
        "process {}: {}{}", process.number, process.in_use.text,
        is_itself ? ", which is this one: there is no room for another with as much" : ""));
  }
}

/// A difference of rounded figures may be nothing at all.
std::string others_text(SizeRange others) {
  return others.low > 0 ? middle_text(others) + " of other processes"
                        : fmt::format("at most {} of other processes", size_text(others.high));
}

std::string beside_line(const BesidePytorch& beside) {
  std::string line =
      fmt::format("on the device outside PyTorch's segments: {}", middle_text(beside.all));
  if (beside.own) {
    line += fmt::format(", {} of it this process's (CUDA context, libraries, NCCL), {}",
                        middle_text(*beside.own), others_text(*beside.others));
  } else {
    line +=
        " (this process's CUDA context and libraries, and other processes; the text does not "
        "tell them apart)";
  }
  return line;
}

bool is_before(const OomMessage& message, const Release& release) {
  const auto until =
      message.releases.until.empty() ? std::nullopt : parse_release(message.releases.until);
  return until && *until < release;
}

std::string conf_name(const OomMessage& message) {
  if (message.backend == "HIP") {
    return "PYTORCH_HIP_ALLOC_CONF";
  }
  return "PYTORCH_CUDA_ALLOC_CONF";
}

void add_fragmentation_helps(const OomMessage& message, std::vector<std::string>& helps) {
  const std::string conf = conf_name(message);
  if (is_before(message, Release{2, 0})) {
    helps.push_back(fmt::format(
        "{}=max_split_size_mb:N below the size asked for, from PyTorch 1.10 on; PyTorch 2 has "
        "expandable_segments:True",
        conf));
  } else {
    helps.push_back(fmt::format(
        "{}=expandable_segments:True, if it is not set: free memory is then joined (PyTorch 2.0 "
        "or later, on Linux)",
        conf));
    helps.push_back(fmt::format("elsewhere {}=max_split_size_mb:N below the size asked for", conf));
  }
  helps.emplace_back(
      "whether either suffices is not in the text: `highwater advise` replays both on a recording");
}

void add_shortage_helps(const MessageCause& cause, std::vector<std::string>& helps) {
  helps.push_back(
      fmt::format("at least {} less in use at this point: a smaller batch or sequence, activation "
                  "checkpointing, sharding, offloading (settings of the allocator make no memory)",
                  size_text(cause.lacking.low)));
  helps.emplace_back(
      "what each of them saves: `highwater simulate --from JOB`, with the configuration or launch "
      "line of the job");
}

}  // namespace

std::string message_verdict(const OomMessage& message, const MessageCause& cause) {
  if (message.other != nullptr) {
    return fmt::format("{}: {}", message.name, message.other_verdict);
  }
  if (cause.cause) {
    return fmt::format("OUT OF MEMORY, {}: {}", to_string(*cause.cause),
                       cause_text(message.figures, cause));
  }
  return "OUT OF MEMORY, the text does not tell the cause: " +
         unclear_text(message, *cause.unclear);
}

std::vector<std::string> message_evidence(const OomMessage& message) {
  const MessageFigures& figures = message.figures;
  const auto beside = beside_pytorch(figures);
  std::vector<std::string> lines;
  if (figures.asked) {
    lines.push_back(asked_line(*figures.asked));
  }
  if (const auto reserved = figures.reserved_range(); reserved && figures.allocated) {
    lines.push_back(fmt::format(
        "PyTorch: {} in use + {} free in its segments = {} reserved", figures.allocated->text,
        middle_text(*reserved - figures.allocated->range()), middle_text(*reserved)));
  }
  if (figures.total && figures.free) {
    lines.push_back(
        fmt::format("the device: {}, {} free", figures.total->text, figures.free->text));
  }
  if (beside) {
    lines.push_back(beside_line(*beside));
  }
  add_process_lines(figures, beside ? &*beside : nullptr, lines);
  return lines;
}

std::vector<std::string> message_helps(const OomMessage& message, const MessageCause& cause) {
  if (message.other != nullptr) {
    return {message.other->helps.begin(), message.other->helps.end()};
  }
  std::vector<std::string> helps;
  if (cause.cause == OomCause::fragmentation) {
    add_fragmentation_helps(message, helps);
  } else if (cause.cause == OomCause::memory_limit) {
    helps.push_back(fmt::format("torch.cuda.set_per_process_memory_fraction for at least {}",
                                middle_text(cause.in_use + cause.request)));
  } else if (cause.cause == OomCause::outside_pytorch) {
    helps.emplace_back("end or move what else is on the device (nvidia-smi lists it)");
  } else if (cause.cause == OomCause::private_pool) {
    helps.emplace_back(
        "fewer or smaller CUDA graphs: fewer shapes to capture, or torch.compile without "
        "mode='reduce-overhead'");
  }
  if (!cause.cause) {
    helps.emplace_back("a smaller batch or sequence asks for less, whatever the cause was");
  } else if (cause.cause != OomCause::fragmentation) {
    add_shortage_helps(cause, helps);
  }
  return helps;
}

std::vector<std::string> message_next(const OomMessage& message, const MessageCause& cause) {
  if (message.other != nullptr && message.other->memory != "GPU") {
    return {};
  }
  const std::string_view what =
      cause.cause == OomCause::fragmentation
          ? "which blocks pin the free memory, whether it belongs to other streams, and which "
            "setting would have served"
          : "who holds the memory, and what would have helped";
  return {fmt::format("to see {}: {}, then `highwater explain SNAPSHOT`", what, kHowToRecord)};
}

std::string release_words(const ReleaseSpan& releases) {
  if (releases.since.empty()) {
    return "";
  }
  if (releases.until.empty()) {
    return fmt::format("PyTorch {} or later", releases.since);
  }
  return releases.since == releases.until
             ? fmt::format("PyTorch {}", releases.since)
             : fmt::format("PyTorch {} to {}", releases.since, releases.until);
}

std::string message_place(const OomMessage& message) {
  std::string place = fmt::format("line {}", message.line);
  if (message.rank) {
    place += fmt::format(", rank {}", *message.rank);
  }
  if (message.device) {
    place += fmt::format(", GPU {}", *message.device);
  }
  if (message.times > 1) {
    place += fmt::format(", {} times", message.times);
  }
  const std::string release = release_words(message.releases);
  return fmt::format("{}; {}{}", place, message.name, release.empty() ? "" : ", " + release);
}

}  // namespace highwater
