#include "body.h"

#include <cstdlib>
#include <cstring>

#include "access.h"
#include "warp.h"
#include "words.h"

namespace ptx {

typedef std::vector<std::string> Words;

void Body::fail(const std::string& why) const {
  throw Unreadable{kernel->name + ": line " + std::to_string(line) + ": " + why};
}

// fresh is a register behind the others. Those of 32 lanes begin at multiples of 64 bytes.
Reg Body::fresh(Width w, bool numbered) {
  if (w != predicate) top = (top + 63) & ~63u;
  Reg r{top, w, numbered ? (int)kernel->registers++ : -1};
  top += w == predicate ? 4 : w * lanes;
  return r;
}

Width width_of(const std::string& type) { // .f32, .b64, .pred, …
  if (type == ".pred" || type == "pred") return predicate;
  int bits = atoi(type.c_str() + type.find_first_of("0123456789"));
  return (Width)(bits / 8);
}

void Body::declare(const std::string& statement) { // .reg .b32 %r<85>
  Words w = words(statement);
  size_t open = w[2].find('<');
  if (open == std::string::npos) {
    registers[w[2]] = fresh(width_of(w[1]), true);
    return;
  }
  for (int k = 0, n = atoi(w[2].c_str() + open + 1); k < n; k++)
    registers[w[2].substr(0, open) + std::to_string(k)] = fresh(width_of(w[1]), true);
}

// constant is a register that holds a number in all lanes.
Reg Body::constant(Width w, u64 value) {
  if (w == predicate) value = value ? all_lanes : 0;
  else if (w != wide) value &= (1ull << 8 * w) - 1;
  auto [it, is_new] = constants.try_emplace({w, value});
  if (is_new) it->second = fresh(w, false);
  return it->second;
}

// special is %tid.x and its like, which a block fills in; only what is one-dimensional here.
Reg Body::special(const std::string& name) {
  Kernel& k = *kernel;
  Reg* r = nullptr;
  if (name == "%tid.x") r = &k.tid;
  if (name == "%ntid.x") r = &k.ntid;
  for (int axis = 0; axis < 3; axis++) {
    if (name == std::string("%ctaid.") + "xyz"[axis]) r = &k.ctaid[axis];
    if (name == std::string("%nctaid.") + "xyz"[axis]) r = &k.nctaid[axis];
  }
  if (!r) fail("unknown register " + name);
  if (r->offset == 0) *r = fresh(word, false);
  return *r;
}

u64 Body::number(const std::string& s) const {
  char* end;
  if (s.size() > 2 && s[0] == '0' && strchr("fFdD", s[1])) return strtoull(s.c_str() + 2, &end, 16); // bits of a float
  u64 v = s[0] == '-' ? (u64)strtoll(s.c_str(), &end, 0) : strtoull(s.c_str(), &end, 0);
  if (s.empty() || (*end && strcmp(end, "U"))) fail("not a number: " + s);
  return v;
}

Reg Body::operand(const std::string& s, Width w) {
  if (auto it = registers.find(s); it != registers.end()) return it->second;
  if (s[0] == '%') return special(s);
  if (auto it = symbols.find(s); it != symbols.end()) return constant(w, it->second);
  return constant(w, number(s));
}

Reg Body::source(Insn& in, const std::string& s, Width w) {
  Reg r = operand(s, w);
  if (r.width != w) fail("width of " + s + " in " + in.text);
  if (r.number >= 0) in.reads.push_back(r.number);
  return r;
}

Reg Body::destination(Insn& in, const std::string& s, Width w) {
  Reg r = operand(s, w);
  if (r.width != w || r.number < 0) fail("destination of " + in.text);
  in.writes.push_back(r.number);
  return r;
}

void Body::address(Insn& in, const std::string& s) { // [register or symbol], [… + number]
  if (s.size() < 3 || s[0] != '[') fail("address of " + in.text);
  std::string inner = s.substr(1, s.size() - 2);
  size_t plus = inner.find('+');
  in.from[0] = source(in, trim(inner.substr(0, plus)), wide).offset;
  in.number = plus == std::string::npos ? 0 : (s64)number(trim(inner.substr(plus + 1)));
}

void Body::emit(Insn in) {
  in.line = line;
  kernel->code.push_back(std::move(in));
}

void Body::statement(const std::string& text) {
  Insn in;
  std::string s = in.text = trim(text), guard;
  for (char& c : in.text)
    if (c == '\t') c = ' ';
  if (s[0] == '@') {
    size_t end = s.find_first_of(" \t");
    guard = s.substr(1, end - 1);
    s = trim(s.substr(end));
  }
  size_t end = std::min(s.find_first_of(" \t"), s.size());
  in.op = s.substr(0, end);
  Words operands = split(s.substr(end), ',');
  if (in.op == "bra" || in.op == "bra.uni") return jump(std::move(in), guard, operands.at(0));
  if (!guard.empty()) fail("only branches can be guarded: " + in.text);
  if (in.op == "ret") {
    in.kind = Kind::end;
    in.counts = Class::branch;
    return emit(std::move(in));
  }
  if (in.op == "bar.sync" && number(operands.at(0)) == 0) {
    in.kind = Kind::barrier;
    in.counts = Class::bar;
    return emit(std::move(in));
  }
  if (in.op == "shfl.sync.bfly.b32") return shuffle(std::move(in), operands);
  if (in.op == "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32") return product(std::move(in), operands);
  if (starts(in.op, "ld.") || starts(in.op, "st.")) return memory(std::move(in), operands);
  if (in.op == "atom.global.cas.b32") return swap(std::move(in), operands);
  if (in.op == "mov.b64") return move(std::move(in), operands);
  arithmetic(std::move(in), operands);
}

void Body::jump(Insn in, std::string guard, const std::string& to) {
  in.kind = Kind::branch;
  in.counts = Class::branch;
  if (guard.empty()) guard = "1";
  in.negated = guard[0] == '!';
  in.from[0] = source(in, guard.substr(in.negated), predicate).offset;
  jumps.push_back({kernel->code.size(), to});
  emit(std::move(in));
}

void Body::shuffle(Insn in, const Words& o) { // destination, source, mask, 31, all lanes
  if (o.size() != 5 || number(o[3]) != 31 || (u32)number(o[4]) != all_lanes) fail("shuffle of some lanes: " + in.text);
  in.kind = Kind::warp;
  in.run = exchange;
  in.counts = Class::shfl;
  in.from[0] = source(in, o[1], word).offset;
  in.to = destination(in, o[0], word).offset;
  in.number = number(o[2]);
  if (in.number > 31) fail("mask of " + in.text);
  emit(std::move(in));
}

void Body::product(Insn in, const Words& o) { // d, a, b, c: 4, 4, 2 and 4 registers
  if (o.size() != 4) fail("operands of " + in.text);
  constexpr size_t sizes[] = {4, 4, 2, 4};
  for (int k : {1, 2, 3, 0}) {
    Words parts = split(o[k].substr(1, o[k].size() - 2), ',');
    if (parts.size() != sizes[k]) fail("operands of " + in.text);
    for (size_t at = 0; at < parts.size(); at++)
      if (k == 0) in.parts[at] = destination(in, parts[at], word).offset;
      else in.factors.push_back(source(in, parts[at], word).offset);
  }
  in.kind = Kind::warp;
  in.run = multiply;
  in.counts = Class::mma;
  emit(std::move(in));
}

void Body::memory(Insn in, const Words& o) { // ld.space[.nc][.vN].type values, [address]; st the other way around
  Words m = split(in.op, '.');
  bool load = m[0] == "ld";
  std::string space = m.at(1), type = m.back();
  size_t at = 2;
  if (m[at] == "nc") in.read_only = true, at++;
  if (m[at] == "v2" || m[at] == "v4") in.vector = m[at++][1] - '0';
  std::string values = o.at(load ? 0 : 1);
  Words parts = values[0] == '{' ? split(values.substr(1, values.size() - 2), ',') : Words{values};
  Width w = operand(parts.at(0), width_of(type)).width;
  in.run = access(load, space, type, w);
  if (at != m.size() - 1 || !in.run || parts.size() != in.vector) fail("unknown access " + in.text);
  address(in, o.at(load ? 1 : 0));
  for (int k = 0; k < in.vector; k++)
    in.parts[k] = (load ? destination(in, parts[k], w) : source(in, parts[k], w)).offset;
  in.counts = space == "global" ? (load ? Class::load : Class::store)
              : space == "shared" ? (load ? Class::load_shared : Class::store_shared)
              : space == "param" ? Class::load_param : Class::load_const;
  emit(std::move(in));
}

void Body::swap(Insn in, const Words& o) { // destination, [address], expected, new
  if (o.size() != 4) fail("operands of " + in.text);
  address(in, o[1]);
  in.from[1] = source(in, o[2], word).offset;
  in.from[2] = source(in, o[3], word).offset;
  in.to = destination(in, o[0], word).offset;
  in.run = compare_and_swap;
  in.counts = Class::atom;
  emit(std::move(in));
}

// move is mov.b64, which also joins and cuts registers.
void Body::move(Insn in, const Words& o) {
  auto pair = [&](const std::string& s) { return split(s.substr(1, s.size() - 2), ','); };
  if (o.size() == 2 && o[1][0] == '{') {
    in.op = "join.b64";
    return arithmetic(std::move(in), {o[0], pair(o[1]).at(0), pair(o[1]).at(1)});
  }
  if (o.size() != 2 || o[0][0] != '{') return arithmetic(std::move(in), o);
  for (int k = 0; k < 2; k++) {
    in.op = k ? "high.b64" : "low.b64";
    arithmetic(in, {pair(o[0]).at(k), o[1]});
  }
}

void Body::arithmetic(Insn in, const Words& o) {
  auto it = ptx::arithmetic().find(in.op);
  if (it == ptx::arithmetic().end()) fail("unknown instruction " + in.text);
  const Opcode& op = it->second;
  if (o.size() != op.widths.size()) fail("operands of " + in.text);
  for (size_t k = 1; k < o.size(); k++) in.from[k - 1] = source(in, o[k], op.widths[k]).offset;
  in.to = destination(in, o[0], op.widths[0]).offset;
  in.run = op.run;
  in.counts = op.counts;
  emit(std::move(in));
}

void Body::finish() {
  Insn last;
  last.kind = Kind::end;
  last.text = "(end)";
  last.counts = Class::branch;
  emit(last);
  for (auto& [at, to] : jumps) {
    if (!labels.count(to)) fail("there is no label " + to);
    kernel->code[at].target = labels[to];
  }
  kernel->start.assign((top + 63) & ~63u, 0);
  for (auto& [key, r] : constants) {
    char* to = &kernel->start[r.offset];
    if (r.width == predicate) memcpy(to, &key.second, 4);
    else
      for (int l = 0; l < lanes; l++) memcpy(to + l * r.width, &key.second, r.width);
  }
}

} // namespace ptx
