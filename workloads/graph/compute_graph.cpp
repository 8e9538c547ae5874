#include "workloads/graph/compute_graph.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/topological_sort.hpp>

namespace highwater {

namespace {

struct Vertex {
  RecordedOperator op;  ///< of operators
  OpId backward;
  Bytes bytes;  ///< of blocks
  Category category = Category::unknown;
};

enum class EdgeKind : std::uint8_t { makes, reads, saved };

struct EdgeProperty {
  EdgeKind kind = EdgeKind::reads;
};

using Graph =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, Vertex, EdgeProperty>;
using VertexId = Graph::vertex_descriptor;

// "ToCopyBackward0" -> "to_copy": the operator that a node is named after.
std::string operator_name(std::string_view node) {
  const std::string_view ending = "Backward";
  const std::size_t at = node.rfind(ending);
  std::string result;
  for (const char c : node.substr(0, at)) {
    const bool is_upper = std::isupper(static_cast<unsigned char>(c)) != 0;
    if (is_upper && !result.empty()) {
      result += '_';
    }
    result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return at == std::string_view::npos ? std::string(node) : result;
}

}  // namespace

// Vertices: first the operators in schedule order, then the blocks in order of allocation.
struct ComputeGraph::Impl {
  Graph graph;
  std::size_t operators = 0;
  std::size_t tensors = 0;
  std::vector<std::string> modules;

  [[nodiscard]] static VertexId vertex(OpId op) { return op.index(); }

  [[nodiscard]] VertexId vertex(TensorId tensor) const { return operators + tensor.index(); }

  [[nodiscard]] const RecordedOperator& at(OpId op) const { return graph[vertex(op)].op; }

  [[nodiscard]] TensorId tensor_at(VertexId v) const { return TensorId(v - operators); }

  void add_blocks(const RequestTrace& trace) {
    for (const Event& event : trace.events) {
      if (event.kind == EventKind::alloc) {
        Vertex& block = graph[vertex(event.allocation)];
        block.bytes = event.bytes();
        block.category = event.category;
      }
    }
  }

  void add_operators(const GraphRecording& recording) {
    for (std::size_t i = 0; i < operators; ++i) {
      graph[i].op = recording.operators[i];
      if (graph[i].op.forward.has_value()) {
        graph[vertex(graph[i].op.forward)].backward = OpId(i);
      }
    }
  }

  void add_edges(const GraphRecording& recording) {
    for (std::size_t i = 0; i < operators; ++i) {
      const RecordedOperator& op = recording.operators[i];
      for (std::uint32_t j = 0; j < op.block_count; ++j) {
        add_edge(OpId(i), recording.blocks[op.first_block + j]);
      }
    }
  }

  void add_edge(OpId op, GraphBlock use) {
    const VertexId block = vertex(use.block);
    switch (use.role) {
      case BlockRole::input:
        boost::add_edge(block, vertex(op), {EdgeKind::reads}, graph);
        break;
      case BlockRole::output:
        boost::add_edge(vertex(op), block, {EdgeKind::makes}, graph);
        break;
      case BlockRole::saved:
        if (const OpId backward = graph[vertex(op)].backward; backward.has_value()) {
          boost::add_edge(block, vertex(backward), {EdgeKind::saved}, graph);
        }
        break;
    }
  }

  [[nodiscard]] std::vector<TensorId> sources(OpId op, EdgeKind kind) const {
    std::vector<TensorId> result;
    for (auto [edge, end] = boost::in_edges(vertex(op), graph); edge != end; ++edge) {
      if (graph[*edge].kind == kind) {
        result.push_back(tensor_at(boost::source(*edge, graph)));
      }
    }
    return result;
  }

  // Edges of a block are added out of order: those to backward operators with their forward ones.
  template <class Wanted>
  [[nodiscard]] std::vector<OpId> targets(TensorId tensor, Wanted wanted) const {
    std::vector<OpId> result;
    for (auto [edge, end] = boost::out_edges(vertex(tensor), graph); edge != end; ++edge) {
      if (wanted(graph[*edge].kind)) {
        result.emplace_back(boost::target(*edge, graph));
      }
    }
    std::ranges::sort(result);
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
  }
};

ComputeGraph::ComputeGraph(const GraphRecording& recording, const RequestTrace& trace)
    : impl_(std::make_unique<Impl>()) {
  impl_->operators = recording.operators.size();
  impl_->tensors = trace.allocation_count;
  impl_->modules = recording.modules;
  impl_->graph = Graph(impl_->operators + impl_->tensors);
  impl_->add_blocks(trace);
  impl_->add_operators(recording);
  impl_->add_edges(recording);
}

ComputeGraph::ComputeGraph(ComputeGraph&& other) noexcept = default;
ComputeGraph& ComputeGraph::operator=(ComputeGraph&& other) noexcept = default;
ComputeGraph::~ComputeGraph() = default;

std::size_t ComputeGraph::operator_count() const {
  return impl_->operators;
}

std::size_t ComputeGraph::tensor_count() const {
  return impl_->tensors;
}

std::vector<OpId> ComputeGraph::topological_order() const {
  std::vector<VertexId> last_first;
  boost::topological_sort(impl_->graph, std::back_inserter(last_first));
  std::vector<OpId> order;
  for (auto v = last_first.rbegin(); v != last_first.rend(); ++v) {
    if (*v < impl_->operators) {
      order.emplace_back(*v);
    }
  }
  return order;
}

std::vector<TensorId> ComputeGraph::inputs(OpId op) const {
  return impl_->sources(op, EdgeKind::reads);
}

std::vector<TensorId> ComputeGraph::saved_for(OpId op) const {
  return impl_->sources(op, EdgeKind::saved);
}

std::vector<TensorId> ComputeGraph::outputs(OpId op) const {
  std::vector<TensorId> result;
  const Graph& graph = impl_->graph;
  for (auto [edge, end] = boost::out_edges(Impl::vertex(op), graph); edge != end; ++edge) {
    result.push_back(impl_->tensor_at(boost::target(*edge, graph)));
  }
  return result;
}

std::string ComputeGraph::name(OpId op) const {
  const RecordedOperator& recorded = impl_->at(op);
  return recorded.kind == OperatorKind::backward ? recorded.name : operator_name(recorded.name);
}

std::string_view ComputeGraph::module_path(OpId op) const {
  return impl_->modules[impl_->at(op).module];
}

OperatorKind ComputeGraph::kind(OpId op) const {
  return impl_->at(op).kind;
}

OpId ComputeGraph::forward_of(OpId op) const {
  return impl_->at(op).forward;
}

OpId ComputeGraph::backward_of(OpId op) const {
  return impl_->graph[Impl::vertex(op)].backward;
}

std::uint64_t ComputeGraph::sequence_nr(OpId op) const {
  return impl_->at(op).sequence_nr;
}

std::uint64_t ComputeGraph::begin(OpId op) const {
  return impl_->at(op).begin;
}

std::uint64_t ComputeGraph::end(OpId op) const {
  return impl_->at(op).end;
}

OpId ComputeGraph::producer(TensorId tensor) const {
  const auto [edge, end] = boost::in_edges(impl_->vertex(tensor), impl_->graph);
  return edge == end ? OpId::none() : OpId(boost::source(*edge, impl_->graph));
}

std::vector<OpId> ComputeGraph::consumers(TensorId tensor) const {
  return impl_->targets(tensor, [](EdgeKind) { return true; });
}

std::vector<OpId> ComputeGraph::saved_by(TensorId tensor) const {
  return impl_->targets(tensor, [](EdgeKind kind) { return kind == EdgeKind::saved; });
}

OpId ComputeGraph::last_use(TensorId tensor) const {
  OpId last = producer(tensor);
  const Graph& graph = impl_->graph;
  for (auto [edge, end] = boost::out_edges(impl_->vertex(tensor), graph); edge != end; ++edge) {
    const OpId consumer(boost::target(*edge, graph));
    last = last.has_value() ? std::max(last, consumer) : consumer;
  }
  return last;
}

Bytes ComputeGraph::bytes(TensorId tensor) const {
  return impl_->graph[impl_->vertex(tensor)].bytes;
}

Category ComputeGraph::category(TensorId tensor) const {
  return impl_->graph[impl_->vertex(tensor)].category;
}

std::vector<TensorId> ComputeGraph::live_at(OpId op) const {
  std::vector<TensorId> result;
  for (std::size_t i = 0; i < impl_->tensors; ++i) {
    const TensorId tensor(i);
    const OpId made = producer(tensor);
    if (made.has_value() && made <= op && last_use(tensor) >= op) {
      result.push_back(tensor);
    }
  }
  return result;
}

Bytes ComputeGraph::live_bytes(OpId op) const {
  Bytes sum;
  for (const TensorId tensor : live_at(op)) {
    sum += bytes(tensor);
  }
  return sum;
}

OperatorRange first_micro_batch(const ComputeGraph& graph, const RequestTrace& trace) {
  std::uint64_t begin = trace.events.size();
  std::uint64_t end = trace.events.size();
  std::uint64_t position = 0;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::phase) {
      const std::string_view phase = trace.tables.strings[event.text()];
      if (phase == "forward" && begin == trace.events.size()) {
        begin = position;
      } else if (begin < position && phase != "backward" && phase != "loss") {
        end = position;
        break;
      }
    }
    ++position;
  }
  OperatorRange range;
  const auto count = static_cast<std::uint32_t>(graph.operator_count());
  for (std::uint32_t i = 0; i < count; ++i) {
    if (graph.end(OpId(i)) <= begin) {
      range.first = OpId(i + 1);
    }
    if (graph.end(OpId(i)) <= end) {
      range.last = OpId(i + 1);
    }
  }
  return range;
}

}  // namespace highwater
