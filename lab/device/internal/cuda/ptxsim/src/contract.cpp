#include <algorithm>

#include "words.h"
#include "code.h"

namespace ptx {

void contract(Kernel& k) {
  std::vector<bool> begins(k.code.size());
  for (auto& in : k.code)
    if (in.kind == Kind::branch) begins[in.target] = true;
  std::map<u32, Insn> products; // by the register that still holds them, since the beginning of the block
  for (size_t at = 0; at < k.code.size(); at++) {
    Insn& in = k.code[at];
    if (begins[at] || in.kind == Kind::barrier) products.clear();
    for (std::string type : {".f32", ".f64"}) {
      if (in.op != "add" + type && in.op != "sub" + type) continue;
      auto held = [&](int which) { // by operand which
        auto it = products.find(in.from[which]);
        return it != products.end() && it->second.op == "mul" + type ? &it->second : nullptr;
      };
      int which = held(0) ? 0 : 1;
      Insn* product = held(which);
      if (!product) continue;
      u32 other = in.from[1 - which];
      std::string fused = in.op[0] == 'a' ? "fma.rn" : which == 0 ? "difference" : "complement";
      in.run = arithmetic().at(fused + type).run;
      in.from[0] = product->from[0], in.from[1] = product->from[1], in.from[2] = other;
      in.op = fused + type;
      in.reads.insert(in.reads.end(), product->reads.begin(), product->reads.end());
    }
    auto overwritten = [&](u32 r) {
      products.erase(r);
      std::erase_if(products, [&](auto& p) { return p.second.from[0] == r || p.second.from[1] == r; });
    };
    if (in.to) overwritten(in.to);
    for (u32 r : in.parts) overwritten(r);
    if (starts(in.op, "mul.f") && in.from[0] != in.to && in.from[1] != in.to) products[in.to] = in;
    if (in.kind == Kind::branch || in.kind == Kind::end) products.clear();
  }
}

} // namespace ptx
