#include "tools/commands/commands.hpp"

#include <algorithm>
#include <array>
#include <ostream>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "allocator/settings/version.hpp"
#include "traces/error.hpp"
#include "traces/program_ban.hpp"

namespace highwater {
namespace {

constexpr auto kCommands = std::to_array<Command>({
    {"simulate", "--model NAME|FILE [options]",
     "Simulates training a model: peak memory, its breakdown, and whether it fits on a GPU.",
     "highwater simulate --model llama-3-8b --batch 1 --seq 4096 --precision bf16 --gpu h100-80",
     run_simulate, CommandGroup::plans, Merging::allowed},
    {"generate", "--model NAME|FILE --output TRACE [options]",
     "Writes the allocation requests of a training plan as a trace, for replay and other tools.",
     "highwater generate --model gpt2 --batch 4 --output gpt2.hwt.zst", run_generate,
     CommandGroup::plans},
    {"estimate", "--model NAME|FILE [options]",
     "Evaluates the published closed-form estimates for a plan, term by term, without simulating.",
     "highwater estimate --model t5-3b --gpus-per-node 8 --nodes 1 --formula deepspeed-zero3",
     run_estimate, CommandGroup::plans},
    {"plan", "--model NAME|FILE --gpu NAME [--gpus N] [options]",
     "Finds the best strategy and largest batch that fit, by LLMem's Algorithm 1 and by "
     "simulation.",
     "highwater plan --model opt-1.3b --seq 512 --precision fp16 --gpu v100-16 --gpus 4", run_plan,
     CommandGroup::plans, Merging::allowed},
    {"solve", "--for FIELD --model NAME|FILE [options]",
     "Solves a plan for a field, as plan --for does: the largest batch, the least memory, the "
     "fewest "
     "GPUs, ... that fits.",
     "highwater solve --for batch --model llama-3-8b --seq 4096 --precision bf16 --checkpoint full "
     "--gpu h100-80",
     run_solve, CommandGroup::plans},
    {"chance", "--model NAME|FILE --lengths FILE|DISTRIBUTION [options]",
     "Draws sequence lengths at random over many runs: how peak memory is distributed, and how "
     "likely it runs out.",
     "highwater chance --model gpt2 --batch 8 --lengths lognormal:median=300,sigma=0.6,max=1024 "
     "--gpu 16GiB",
     run_chance, CommandGroup::plans, Merging::allowed},
    {"replay", "FILE [options]",
     "Replays a memory snapshot or trace through the allocator model, under any settings.",
     "highwater replay snapshot.pickle --alloc-conf expandable_segments:True --capacity 80GiB",
     run_replay, CommandGroup::recordings},
    {"record", "[options] -- COMMAND",
     "Runs a training script with its own PyTorch on a fake GPU and records what it allocates.",
     "highwater record --gpu h100-80 --steps 3 -- python3 train.py --batch-size 8", run_record,
     CommandGroup::recordings},
    {"fit", "FILE[:NAME=N,...] FILE... --output RUN.hwp [options]",
     "Fits one program for every batch and length to a few small recordings, for simulate --from.",
     "highwater fit b1s128.pickle b2s128.pickle b2s256.pickle b4s256.pickle --output run.hwp",
     run_fit, CommandGroup::recordings},
    {"explain", "FILE | --model NAME|FILE [options]",
     "Explains why a run ran out of memory and what would have helped; each answer is replayed. Of "
     "a log, what the error messages in it tell.",
     "highwater explain snapshot.pickle", run_explain, CommandGroup::either},
    {"advise", "FILE | --model NAME|FILE [options]",
     "Finds the best allocator settings for a file or a plan by replaying it under many of them.",
     "highwater advise snapshot.pickle", run_advise, CommandGroup::either},
    {"check", "(FILE | --model NAME|FILE) (--max-reserved SIZE | --baseline FILE) [options]",
     "Checks a run or a plan against a limit or an accepted run, and reports what grew; use it as "
     "a CI gate.",
     "highwater check snapshot.pickle --baseline memory.json --max-growth 2%", run_check,
     CommandGroup::either},
    {"sweep", "FILE | --model NAME|FILE [options] [--set KEY=V1,V2,...]...",
     "Replays a file or a plan under every combination of settings, limits and plan options.",
     "highwater sweep snapshot.pickle --set expandable_segments=False,True --set capacity=auto",
     run_sweep_command, CommandGroup::either, Merging::allowed},
    {"report", "FILE [FILE] | --model NAME [options]",
     "Writes a self-contained HTML page about a run: memory and tensors over time, segment maps, "
     "who holds memory; with a second file, a comparison of both.",
     "highwater report snapshot.pickle --output report.html", run_report, CommandGroup::either},
    {"models", "[NAME|FILE] [options]", "Lists the known models, or shows the details of one.",
     "highwater models llama-3-8b", run_models, CommandGroup::files},
    {"info", "FILE... [options]",
     "Shows what is in a file: devices, events, settings, peaks, truncation, top sites.",
     "highwater info snapshot.pickle", run_info, CommandGroup::recordings},
    {"diff", "A B | CASE.json [options]",
     "Compares the peaks and requests of two runs, or of a recorded case and its simulation.",
     "highwater diff recorded/gpt2-fp32-sdpa.json --step 1 --phase forward", run_diff,
     CommandGroup::either},
    {"validate", "[GRID | --recorded DIR | --reference FILE] [options]",
     "Compares closed forms, simulation and measurements: over a grid of plans, over recordings, "
     "or against published figures.",
     "highwater validate --recorded recorded --only 'gpt2-*'", run_validate, CommandGroup::checks,
     Merging::allowed},
    {"export", "[FILE | --model NAME|FILE] --output PATH [options]",
     "Exports a run, under any settings, for other tools: memory snapshot, Chrome trace, CSV, "
     "stacks.",
     "highwater export snapshot.pickle --alloc-conf expandable_segments:True --output other.pickle",
     run_export, CommandGroup::either},
    {"phases", "FILE [options]",
     "Programs that take turns on one GPU, as a trainer and an engine that generates do: what each "
     "phase of each cycle takes, what sleeps and wakes, what stays.",
     "highwater phases grpo.toml --gpu h100-80", run_phases, CommandGroup::either},
    {"captures", "FILE [options]",
     "Predicts what the CUDA graphs of a run take in other pools, on other streams and in other "
     "orders, and what sharing saves.",
     "highwater captures record.pickle", run_captures, CommandGroup::recordings},
    {"reduce", "FILE --keep WHAT [--output PATH] [--script PATH] [options]",
     "Finds the shortest program that still runs out of memory, or still shows a peak or "
     "fragmentation, as a trace and as a script for PyTorch.",
     "highwater reduce snapshot.pickle --keep oom --output small.trace --script small.py",
     run_reduce, CommandGroup::recordings},
    {"redact", "IN OUT [options]",
     "Removes names, paths and dates from a snapshot or trace, but keeps its structure.",
     "highwater redact snapshot.pickle shareable.pickle", run_redact, CommandGroup::files},
    {"scan", "FOLDER [options]",
     "Compares all snapshots of a job: peaks by rank, outliers, imbalance.",
     "highwater scan snapshots/", run_scan, CommandGroup::recordings, Merging::allowed},
    {"merge", "PART... [options]",
     "Combines the outputs of --shard i/N; identical to an unsharded run.",
     "highwater merge part-1 part-2 part-3 part-4", run_merge, CommandGroup::files},
    {"convert", "IN OUT [options]",
     "Converts between trace formats: .trace (text) and .hwt (binary), plain or .gz, .xz, .zst.",
     "highwater convert snapshot.pickle snapshot.hwt.zst", run_convert, CommandGroup::files},
    {"conformance", "DIR [options]",
     "Replays conformance vectors and compares every decision with the recorded ones.",
     "highwater conformance tests/data/conformance", run_conformance_command, CommandGroup::checks},
    {"schema", "[COMMAND]",
     "Prints the JSON schema of what a command prints; without COMMAND, lists the commands that "
     "have one.",
     "highwater schema replay", run_schema, CommandGroup::files},
    {"gpus", "[options]",
     "Lists the GPUs that --gpu knows: memory, compute capability, "
     "multiprocessors.",
     "highwater gpus", run_gpus, CommandGroup::files},
    {"completion", "bash|zsh|fish",
     "Prints a script that completes commands, options and their values in a shell.",
     "highwater completion bash > ~/.local/share/bash-completion/completions/highwater",
     run_completion, CommandGroup::files},
    {"manual", "", "Prints the manual page, with every command and option.",
     "highwater manual | man -l -", run_manual, CommandGroup::files},
});

constexpr std::array kHeadings{
    std::pair(CommandGroup::plans, "A run to come"),
    std::pair(CommandGroup::recordings, "A run that was"),
    std::pair(CommandGroup::either, "Either: FILE of a run that was, or --model of one to come"),
    std::pair(CommandGroup::files, "Names, files and the shell"),
    std::pair(CommandGroup::checks, "How far to trust the answers"),
};

std::string overview() {
  std::string text =
      "Highwater simulates the PyTorch CUDA caching allocator.\n\n"
      "Usage: highwater COMMAND [options]\n";
  for (const auto& [group, heading] : kHeadings) {
    std::vector<HelpEntry> entries;
    for (const Command& entry : kCommands) {
      if (entry.group == group) {
        entries.push_back({fmt::format("{:<11}", entry.name), {std::string(entry.description)}});
      }
    }
    text += fmt::format("\n{}:\n{}", heading, help_text(entries));
  }
  text += "\nVersion presets (--torch):\n";
  for (const VersionPreset& preset : version_presets()) {
    text += fmt::format("  {:<12} {}\n", preset.name, preset.basis);
  }
  text +=
      "\nExit codes: 0 success, 1 budget exceeded or comparison failed, 2 wrong usage, 3 bad input "
      "or\nunwritable output, 4 internal error.\n'highwater help COMMAND' shows a command's "
      "options.\nDefaults of your own: ~/.config/highwater/config.toml; --no-config leaves them "
      "out.\n";
  return text;
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const Command& entry : kCommands) {
    names.emplace_back(entry.name);
  }
  return names;
}

/// "help COMMAND", "help COMMAND --help-all".
ExitCode help_of(const Arguments& words, std::ostream& out) {
  const bool is_all = words.size() == 2 && words.back() == "--help-all";
  if (words.size() > 1 && !is_all) {
    throw UsageError(
        fmt::format("help {}: takes one COMMAND; omit the rest", fmt::join(words, " ")));
  }
  return command(words.front()).run({is_all ? "--help-all" : "--help"}, out);
}

}  // namespace

std::span<const Command> commands() {
  return kCommands;
}

const Command& command(std::string_view name) {
  const auto found = std::ranges::find(kCommands, name, &Command::name);
  if (found == kCommands.end()) {
    const auto meant = nearest_word(name, command_names());
    throw UsageError(
        fmt::format("'{}': unknown command; {}", name,
                    meant ? "did you mean '" + *meant + "'?" : "see highwater --help"));
  }
  return *found;
}

std::vector<OptionSummary> options_of(const Command& command) {
  std::ostringstream nothing;
  try {
    command.run({"--help"}, nothing);
  } catch (const HelpRequested& help) {
    return help.options;
  }
  return {};
}

ExitCode run_command(const Arguments& arguments, std::ostream& out) {
  if (arguments.empty()) {
    throw UsageError("missing command; see highwater --help");
  }
  const std::string& name = arguments.front();
  if (name == "help" && arguments.size() > 1) {
    return help_of({arguments.begin() + 1, arguments.end()}, out);
  }
  if (name == "--help" || name == "-h" || name == "help") {
    throw HelpRequested{overview()};
  }
  if (name == "--version" || name == "-V") {
    throw HelpRequested{"highwater " HIGHWATER_VERSION "\n"};
  }
  const Command& called = command(name);
  static const std::string kShard = "--shard";
  const bool is_shard = called.merging == Merging::allowed &&
                        std::ranges::any_of(arguments, [](const std::string& word) {
                          return word == kShard || word.starts_with(kShard + "=");
                        });
  const ProgramBan ban(is_shard ? &kShard : program_ban());  // merge would refuse its parts
  return called.run({arguments.begin() + 1, arguments.end()}, out);
}

}  // namespace highwater
