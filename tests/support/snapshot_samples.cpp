#include "tests/support/snapshot_samples.hpp"

#include "tests/support/temp_dir.hpp"

namespace highwater::test {

PyValue sample_frame() {
  return PyValue::dict({{"filename", "train.py"}, {"line", 12}, {"name", "step"}});
}

PyValue sample_entry() {
  return PyValue::dict({{"action", "alloc"},
                        {"addr", std::int64_t{0x7f0000000000}},
                        {"size", 1000},
                        {"stream", 0},
                        {"time_us", std::int64_t{1700000000000000}},
                        {"frames", PyValue::list({sample_frame()})}});
}

PyValue sample_block() {
  return PyValue::dict({{"address", std::int64_t{0x7f0000000000}},
                        {"size", 1024},
                        {"requested_size", 1000},
                        {"state", "active_allocated"},
                        {"frames", PyValue::list({sample_frame()})}});
}

PyValue sample_segment() {
  const PyValue rest = PyValue::dict({{"address", std::int64_t{0x7f0000000400}},
                                      {"size", 2096128},
                                      {"requested_size", 77},
                                      {"state", "inactive"},
                                      {"frames", PyValue::list({})}});
  return PyValue::dict({{"device", 0},
                        {"address", std::int64_t{0x7f0000000000}},
                        {"total_size", 2097152},
                        {"allocated_size", 1024},
                        {"active_size", 1024},
                        {"requested_size", 1000},
                        {"stream", 0},
                        {"segment_type", "small"},
                        {"segment_pool_id", PyValue::tuple({0, 0})},
                        {"is_expandable", false},
                        {"frames", PyValue::list({})},
                        {"blocks", PyValue::list({sample_block(), rest})}});
}

PyValue sample_settings() {
  return PyValue::dict({{"PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:64"},
                        {"max_split_size", 67108864},
                        {"garbage_collection_threshold", 0.5},
                        {"expandable_segments", false},
                        {"pinned_num_register_threads", 1},
                        {"release_lock_on_cudamalloc", false},
                        {"pinned_use_cuda_host_register", false},
                        {"roundup_power2_divisions", PyValue::dict({{"1", 0}, {"2", 4}})}});
}

PyValue sample_snapshot() {
  const PyValue free = sample_entry().with("action", "free_completed");
  const PyValue annotation = PyValue::dict({{"name", "Optimizer.step#AdamW.step"},
                                            {"stage", "END"},
                                            {"device", 0},
                                            {"time_us", std::int64_t{1700000000000001}}});
  return PyValue::dict(
      {{"segments", PyValue::list({sample_segment()})},
       {"device_traces", PyValue::list({PyValue::list({sample_entry(), free}), PyValue::list({})})},
       {"allocator_settings", sample_settings()},
       {"external_annotations", PyValue::list({annotation})}});
}

PyValue snapshot_of_entries(PyValue::List entries) {
  return PyValue::dict({{"segments", PyValue::list({})},
                        {"device_traces", PyValue::list({PyValue::list(std::move(entries))})}});
}

PyValue snapshot_of_segments(PyValue::List segments) {
  return PyValue::dict({{"segments", PyValue::list(std::move(segments))},
                        {"device_traces", PyValue::list({PyValue::list({})})}});
}

void write_snapshot(const std::filesystem::path& path, const PyValue& snapshot) {
  const Bytestring bytes = write_pickle(snapshot, Dialect::python);
  write_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace highwater::test
