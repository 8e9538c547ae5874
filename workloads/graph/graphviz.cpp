#include "workloads/graph/graphviz.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "traces/units.hpp"

namespace highwater {

namespace {

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
    }
    result += c;
  }
  return result + "\"";
}

std::string id_of(OpId op) {
  return "op" + std::to_string(op.value());
}

std::string id_of(TensorId tensor) {
  return "block" + std::to_string(tensor.value());
}

std::string_view color_of(OperatorKind kind) {
  switch (kind) {
    case OperatorKind::forward:
      return "#cfe2f3";
    case OperatorKind::recompute:
      return "#fff2cc";
    case OperatorKind::backward:
      return "#f4cccc";
    case OperatorKind::source:
      return "#ffffff";
  }
  return "";
}

std::string_view color_of(Category category) {
  switch (category) {
    case Category::parameter:
      return "#d9d2e9";
    case Category::gradient:
      return "#ead1dc";
    case Category::activation:
      return "#d9ead3";
    default:
      return "#ffffff";
  }
}

std::string_view pass_of(OperatorKind kind) {
  switch (kind) {
    case OperatorKind::recompute:
      return "recompute";
    case OperatorKind::backward:
      return "backward";
    case OperatorKind::forward:
    case OperatorKind::source:
      return "forward";
  }
  return "";
}

bool is_below(std::string_view path, std::string_view module) {
  return module.empty() || path == module ||
         (path.starts_with(module) && path[module.size()] == '.');
}

/// The module tree with the statements of each cluster.
struct Cluster {
  std::map<std::string, std::unique_ptr<Cluster>> parts;
  std::vector<std::string> statements;

  Cluster& at(std::string_view path) {
    if (path.empty()) {
      return *this;
    }
    const std::size_t end = std::min(path.find('.'), path.size());
    auto& part = parts[std::string(path.substr(0, end))];
    if (!part) {
      part = std::make_unique<Cluster>();
    }
    path.remove_prefix(std::min(end + 1, path.size()));
    return part->at(path);
  }
};

class Drawing {
 public:
  Drawing(const ComputeGraph& graph, const GraphvizOptions& options)
      : graph_(graph), options_(options), is_drawn_(graph.tensor_count()) {}

  std::string text() {
    for (auto i = options_.range.first.value(); i < options_.range.last.value(); ++i) {
      if (is_wanted(OpId(i))) {
        draw(OpId(i));
      }
    }
    std::string out =
        "digraph compute_graph {\n"
        "  rankdir=TB; compound=true; fontname=\"Helvetica\";\n"
        "  node [fontname=\"Helvetica\", fontsize=10, style=filled];\n"
        "  edge [color=\"#555555\", arrowsize=0.6];\n";
    write(root_, "", "  ", out);
    for (const auto& edge : edges_) {
      out += "  " + edge;
    }
    return out + "}\n";
  }

 private:
  [[nodiscard]] bool is_wanted(OpId op) const {
    const std::string name = graph_.name(op);
    const bool has_effect = !graph_.outputs(op).empty() || !graph_.saved_for(op).empty() ||
                            name == "AccumulateGrad" || name == "add_";
    return has_effect && graph_.kind(op) != OperatorKind::source &&
           is_below(graph_.module_path(op), options_.module);
  }

  // Forward and backward are separate trees: backward runs through the modules bottom up.
  [[nodiscard]] std::string cluster_of(OpId op) const {
    const std::string_view path = graph_.module_path(op);
    std::string pass(pass_of(graph_.kind(op)));
    return path.empty() ? pass : pass.append(".").append(path);
  }

  void draw(OpId op) {
    root_.at(cluster_of(op))
        .statements.push_back(id_of(op) + " [shape=box, label=" + quoted(graph_.name(op)) +
                              ", fillcolor=\"" + std::string(color_of(graph_.kind(op))) + "\"];\n");
    for (const TensorId tensor : graph_.inputs(op)) {
      connect(tensor, op, "");
    }
    for (const TensorId tensor : graph_.saved_for(op)) {
      connect(tensor, op, " [style=dashed, constraint=false]");
    }
    for (const TensorId tensor : graph_.outputs(op)) {
      draw(tensor, op);
      edges_.push_back(id_of(op) + " -> " + id_of(tensor) + ";\n");
    }
  }

  // A backward node also reads what it keeps: one dashed edge shows both.
  void connect(TensorId tensor, OpId op, std::string_view style) {
    draw(tensor, op);
    const auto keepers = graph_.saved_by(tensor);
    if (!style.empty() || !std::ranges::binary_search(keepers, op)) {
      edges_.push_back(id_of(tensor) + " -> " + id_of(op) + std::string(style) + ";\n");
    }
  }

  void draw(TensorId tensor, OpId beside) {
    if (is_drawn_[tensor.index()]) {
      return;
    }
    is_drawn_[tensor.index()] = true;
    const OpId made = graph_.producer(tensor);
    const bool is_inside = made.has_value() && made >= options_.range.first && is_wanted(made);
    const Category category = graph_.category(tensor);
    const bool has_name = category != Category::temporary && category != Category::activation;
    const std::string label =
        (has_name ? std::string(to_string(category)) + "\\n" : "") + to_iec(graph_.bytes(tensor));
    root_.at(cluster_of(is_inside ? made : beside))
        .statements.push_back(id_of(tensor) + " [shape=ellipse, label=\"" + label +
                              "\", fillcolor=\"" + std::string(color_of(category)) + "\"];\n");
  }

  void write(const Cluster& cluster, const std::string& path, const std::string& indent,
             std::string& out) {
    for (const auto& statement : cluster.statements) {
      out += indent + statement;
    }
    for (const auto& [name, part] : cluster.parts) {
      const std::string inner = path.empty() ? name : path + "." + name;
      out += indent + "subgraph " + quoted("cluster_" + inner) + " {\n";
      out += indent + "  label=" + quoted(inner) + "; color=\"#999999\";\n";
      write(*part, inner, indent + "  ", out);
      out += indent + "}\n";
    }
  }

  const ComputeGraph& graph_;
  const GraphvizOptions& options_;
  Cluster root_;
  std::vector<std::string> edges_;
  std::vector<bool> is_drawn_;
};

}  // namespace

std::string graphviz(const ComputeGraph& graph, const GraphvizOptions& options) {
  return Drawing(graph, options).text();
}

}  // namespace highwater
