// The variants of apply_rotary_pos_emb (transformers 5.23): which columns are turned, in which
// type, and when intermediate results die.
#include "workloads/models/decoders/rotation.hpp"

#include <utility>

namespace highwater::models {

namespace {

/// What the turned columns are multiplied with: [batch, 1, seq, columns].
struct Tables {
  Tensor cos;
  Tensor sin;
};

struct Parts {
  Tensor turned;
  Tensor rest;
};

using Turn = Tensor (*)(const Tensor& x, const Tables& tables);

// torch.stack((-x2, x1), dim=-1).flatten(-2) of neighbours
Tensor rotate_neighbours(const Tensor& x) {
  const Tensor first = eager::slice(x, -1, 0, eager::kEnd, 2);
  const Tensor second = eager::slice(x, -1, 1, eager::kEnd, 2);
  const Tensor negative = eager::neg(second);
  const Tensor pairs = eager::stack(std::initializer_list<Tensor>{negative, first}, -1);
  return eager::flatten(pairs, -2, -1);
}

// x * cos + rotated * sin, where `rotated` has no name.
Tensor turned_sum(Tensor straight, Tensor rotated, const Tensor& sin) {
  Tensor turned = eager::mul(rotated, sin);
  rotated.reset();
  Tensor result = eager::add(straight, turned);
  eager::end_of_frame(straight, turned);
  return result;
}

Tensor turn_halves(const Tensor& x, const Tables& tables) {
  return apply_rotary(x, tables.cos, tables.sin);
}

Tensor turn_neighbours(const Tensor& x, const Tables& tables) {
  Tensor straight = eager::mul(x, tables.cos);
  return turned_sum(std::move(straight), rotate_neighbours(x), tables.sin);
}

// q.float() * cos + rotate_half(q).float() * sin
Tensor turn_wide_neighbours(const Tensor& x, const Tables& tables) {
  Tensor wide = eager::to_dtype(x, DType::fp32);
  Tensor straight = eager::mul(wide, tables.cos);
  wide.reset();
  Tensor rotated = rotate_neighbours(x);
  rotated = eager::to_dtype(rotated, DType::fp32);
  return turned_sum(std::move(straight), std::move(rotated), tables.sin);
}

Tables plain_tables(const CosSin& positions) {
  return {eager::unsqueeze(positions.cos, 1), eager::unsqueeze(positions.sin, 1)};
}

// cos[..., : cos.shape[-1] // 2].repeat_interleave(2, dim=-1)
Tensor doubled(const Tensor& table) {
  return eager::repeat_interleave(eager::slice(table, -1, 0, table.size(-1) / 2), 2, -1);
}

Tables paired_tables(const CosSin& positions) {
  Tables tables = plain_tables(positions);
  tables.cos = doubled(tables.cos);
  tables.sin = doubled(tables.sin);
  return tables;
}

Parts cut(const Tensor& x, std::int64_t columns) {
  return {eager::slice(x, -1, 0, columns), eager::slice(x, -1, columns, eager::kEnd)};
}

Tensor joined(const Tensor& turned, const Tensor& rest) {
  return eager::cat(std::initializer_list<Tensor>{turned, rest}, -1);
}

// The function's frame ends, then the caller binds what it returned.
void bind(HeadStates& states, Tables& tables, Tensor query, Tensor key) {
  eager::end_of_frame(tables.cos, tables.sin);
  states.query = std::move(query);
  states.key = std::move(key);
}

// return q_embed, k_embed
void rotate_all(HeadStates& states, Tables tables, Turn turn) {
  Tensor query = turn(states.query, tables);
  Tensor key = turn(states.key, tables);
  bind(states, tables, std::move(query), std::move(key));
}

// return q_embed.to(dtype), k_embed.to(dtype); q and k are arguments, perhaps bound again.
void rotate_and_cast(HeadStates& states, Tables tables, Turn turn, Tensor q, Tensor k) {
  const DType type = states.query.dtype();
  Tensor query = turn(q, tables);
  Tensor key = turn(k, tables);
  Tensor query_result = eager::to_dtype(query, type);
  Tensor key_result = eager::to_dtype(key, type);
  eager::end_of_frame(q, k, tables.cos, tables.sin, query, key);
  bind(states, tables, std::move(query_result), std::move(key_result));
}

// q = q.float(); k = k.float()
void rotate_wide(HeadStates& states, const CosSin& positions) {
  Tensor q = eager::to_dtype(states.query, DType::fp32);
  Tensor k = eager::to_dtype(states.key, DType::fp32);
  rotate_and_cast(states, plain_tables(positions), turn_neighbours, std::move(q), std::move(k));
}

// q_embed = torch.cat([q_embed, q_pass]); k_embed = torch.cat([k_embed, k_pass])
void rotate_inside(HeadStates& states, Tables tables, Turn turn) {
  const std::int64_t columns = tables.cos.size(-1);
  Tensor query_result;
  Tensor key_result;
  {
    const Parts query = cut(states.query, columns);
    const Parts key = cut(states.key, columns);
    query_result = turn(query.turned, tables);
    key_result = turn(key.turned, tables);
    query_result = joined(query_result, query.rest);
    key_result = joined(key_result, key.rest);
  }
  bind(states, tables, std::move(query_result), std::move(key_result));
}

// return torch.cat((q_embed, q_pass)), torch.cat((k_embed, k_pass))
void rotate_in_return(HeadStates& states, Tables tables) {
  const std::int64_t columns = tables.cos.size(-1);
  const Parts query = cut(states.query, columns);
  const Parts key = cut(states.key, columns);
  Tensor query_turned = turn_halves(query.turned, tables);
  Tensor key_turned = turn_halves(key.turned, tables);
  Tensor query_result = joined(query_turned, query.rest);
  Tensor key_result = joined(key_turned, key.rest);
  eager::end_of_frame(tables.cos, tables.sin, query_turned, key_turned);
  bind(states, tables, std::move(query_result), std::move(key_result));
}

// torch.cat([q_rot * cos + rotate_half(q_rot) * sin, q_pass])
void rotate_in_join(HeadStates& states, Tables tables) {
  const std::int64_t columns = tables.cos.size(-1);
  const Parts query = cut(states.query, columns);
  const Parts key = cut(states.key, columns);
  Tensor query_result = joined(turn_halves(query.turned, tables), query.rest);
  Tensor key_result = joined(turn_halves(key.turned, tables), key.rest);
  bind(states, tables, std::move(query_result), std::move(key_result));
}

// query, key = apply_rotary_pos_emb(...); query = torch.cat((query, query_pass)); key = ...
void rotate_and_rebind(HeadStates& states, const CosSin& positions) {
  const std::int64_t columns = positions.cos.size(-1);
  const Parts query = cut(states.query, columns);
  const Parts key = cut(states.key, columns);
  {
    const Tables tables = plain_tables(positions);
    states.query = turn_halves(query.turned, tables);
    states.key = turn_halves(key.turned, tables);
  }
  states.query = joined(states.query, query.rest);
  states.key = joined(states.key, key.rest);
}

// The attention cuts, and keeps the turned columns until its frame ends.
void rotate_outside(HeadStates& states, const CosSin& positions) {
  const std::int64_t columns = positions.cos.size(-1);
  const Parts query = cut(states.query, columns);
  const Parts key = cut(states.key, columns);
  {
    const Tables tables = plain_tables(positions);
    states.turned_query = turn_halves(query.turned, tables);
    states.turned_key = turn_halves(key.turned, tables);
  }
  states.rest_query = query.rest;
  states.rest_key = key.rest;
  states.query = joined(states.turned_query, query.rest);
  states.key = joined(states.turned_key, key.rest);
}

}  // namespace

void rotate(HeadStates& states, const CosSin& positions, Rotation rotation) {
  switch (rotation) {
    case Rotation::halves:
      return rotate_all(states, plain_tables(positions), turn_halves);
    case Rotation::halves_cast:
      return rotate_and_cast(states, plain_tables(positions), turn_halves, states.query,
                             states.key);
    case Rotation::wide_pairs:
      return rotate_wide(states, positions);
    case Rotation::pairs:
      return rotate_all(states, paired_tables(positions), turn_neighbours);
    case Rotation::pairs_cast:
      return rotate_and_cast(states, paired_tables(positions), turn_wide_neighbours, states.query,
                             states.key);
    case Rotation::partial_pairs:
      return rotate_inside(states, paired_tables(positions), turn_neighbours);
    case Rotation::partial_inside:
      return rotate_inside(states, plain_tables(positions), turn_halves);
    case Rotation::partial_return:
      return rotate_in_return(states, plain_tables(positions));
    case Rotation::partial_joined:
      return rotate_in_join(states, plain_tables(positions));
    case Rotation::partial_outside:
      return rotate_outside(states, positions);
    case Rotation::partial_rebound:
      return rotate_and_rebind(states, positions);
  }
}

}  // namespace highwater::models
