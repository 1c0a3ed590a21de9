// The body of a kernel, while it is read.
#pragma once
#include "code.h"

namespace ptx {

class Body {
 public:
  explicit Body(const std::string& name) { kernel->name = name; }

  int line = 0;                                   // that is being read
  std::shared_ptr<Kernel> kernel = std::make_shared<Kernel>();
  std::map<std::string, u64> symbols;             // offsets of parameters, shared arrays and constants

  void declare(const std::string& statement);     // .reg
  void label(const std::string& name) { labels[name] = kernel->code.size(); }
  void statement(const std::string& text);        // an instruction without its semicolon
  void finish();                                  // after the last
  [[noreturn]] void fail(const std::string& why) const;

 private:
  std::map<std::string, Reg> registers;
  std::map<std::pair<Width, u64>, Reg> constants;
  std::map<std::string, u32> labels;
  std::vector<std::pair<u32, std::string>> jumps; // instructions and the labels that they lead to
  u32 top = 64;                                   // of the registers' bytes; 0 is no place

  Reg fresh(Width w, bool numbered);
  Reg constant(Width w, u64 value);
  Reg special(const std::string& name);
  u64 number(const std::string& s) const;
  Reg operand(const std::string& s, Width w);
  Reg source(Insn& in, const std::string& s, Width w);
  Reg destination(Insn& in, const std::string& s, Width w);
  void address(Insn& in, const std::string& s);
  void emit(Insn in);

  void jump(Insn in, std::string guard, const std::string& to);
  void shuffle(Insn in, const std::vector<std::string>& operands);
  void product(Insn in, const std::vector<std::string>& operands);
  void memory(Insn in, const std::vector<std::string>& operands);
  void swap(Insn in, const std::vector<std::string>& operands);
  void arithmetic(Insn in, const std::vector<std::string>& operands);
  void move(Insn in, const std::vector<std::string>& operands);
};

} // namespace ptx
